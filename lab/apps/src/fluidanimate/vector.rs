//! Vectors of three components.

pub(super) type Vector = [f64; 3];

pub(super) fn plus(a: Vector, b: Vector) -> Vector {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

pub(super) fn minus(a: Vector, b: Vector) -> Vector {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

pub(super) fn times(factor: f64, a: Vector) -> Vector {
    a.map(|component| factor * component)
}

pub(super) fn square(a: Vector) -> f64 {
    a[0] * a[0] + a[1] * a[1] + a[2] * a[2]
}

pub(super) fn sum(vectors: impl Iterator<Item = Vector>) -> Vector {
    vectors.fold([0.0; 3], plus)
}
