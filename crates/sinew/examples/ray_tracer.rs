//! Renders spheres above a floor: `cargo run --release --example ray_tracer IMAGE.ppm`; without a
//! file it draws with letters.
//!
//! Shows: rows of unequal cost in a chain with a control, whose progress is printed; and that an
//! image is the same for any number of threads.

use sinew::prelude::*;
use std::ops::{Add, Mul, Sub};
use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Vec3(f64, f64, f64);

impl Add for Vec3 {
    type Output = Self;
    fn add(self, o: Self) -> Self {
        Self(self.0 + o.0, self.1 + o.1, self.2 + o.2)
    }
}

impl Sub for Vec3 {
    type Output = Self;
    fn sub(self, o: Self) -> Self {
        self + o * -1.0
    }
}

impl Mul<f64> for Vec3 {
    type Output = Self;
    fn mul(self, f: f64) -> Self {
        Self(self.0 * f, self.1 * f, self.2 * f)
    }
}

impl Vec3 {
    fn dot(self, o: Self) -> f64 {
        self.0 * o.0 + self.1 * o.1 + self.2 * o.2
    }

    fn unit(self) -> Self {
        self * (1.0 / self.dot(self).sqrt())
    }

    fn reflected(self, normal: Self) -> Self {
        self - normal * (2.0 * self.dot(normal))
    }
}

#[derive(Debug, Clone, Copy)]
struct Ray {
    from: Vec3,
    to: Vec3,
}

struct Sphere {
    centre: Vec3,
    radius: f64,
    colour: Vec3,
    mirror: f64,
}

/// The surface that a ray meets: place, normal, colour, and how much of it is a mirror.
struct Hit {
    distance: f64,
    place: Vec3,
    normal: Vec3,
    colour: Vec3,
    mirror: f64,
}

struct Scene {
    spheres: Vec<Sphere>,
    light: Vec3,
}

impl Scene {
    fn new() -> Self {
        let spheres = (0..9).map(|i| {
            let (x, z) = (f64::from(i % 3) * 2.0 - 2.0, f64::from(i / 3) * 2.0 + 4.0);
            let shade = f64::from(i) / 9.0;
            let colour = Vec3(1.0 - shade, 0.4, 0.3 + 0.7 * shade);
            Sphere { centre: Vec3(x, 0.0, z), radius: 0.8, colour, mirror: 0.4 }
        });
        Self { spheres: spheres.collect(), light: Vec3(-0.5, 1.0, -0.6).unit() }
    }

    fn hit(&self, ray: Ray) -> Option<Hit> {
        let spheres = self.spheres.iter().filter_map(|sphere| sphere.hit(ray));
        spheres.chain(floor(ray)).min_by(|a, b| a.distance.total_cmp(&b.distance))
    }

    fn colour(&self, ray: Ray, depth: u32) -> Vec3 {
        let Some(hit) = self.hit(ray) else {
            let up = 0.5 * (ray.to.1 + 1.0);
            return Vec3(1.0, 1.0, 1.0) * (1.0 - up) + Vec3(0.4, 0.6, 1.0) * up;
        };
        let above = hit.place + hit.normal * 1e-6;
        let shadow = self.hit(Ray { from: above, to: self.light }).is_some();
        let light = if shadow { 0.2 } else { 0.2 + 0.8 * hit.normal.dot(self.light).max(0.0) };
        let own = hit.colour * light;
        if depth == 0 || hit.mirror == 0.0 {
            return own;
        }
        let mirrored = Ray { from: above, to: ray.to.reflected(hit.normal) };
        own * (1.0 - hit.mirror) + self.colour(mirrored, depth - 1) * hit.mirror
    }
}

impl Sphere {
    fn hit(&self, ray: Ray) -> Option<Hit> {
        let to_centre = ray.from - self.centre;
        let half = to_centre.dot(ray.to);
        let root = half * half - to_centre.dot(to_centre) + self.radius * self.radius;
        let distance = -half - root.max(0.0).sqrt();
        if root < 0.0 || distance < 1e-9 {
            return None;
        }
        let place = ray.from + ray.to * distance;
        let normal = (place - self.centre) * (1.0 / self.radius);
        Some(Hit { distance, place, normal, colour: self.colour, mirror: self.mirror })
    }
}

/// A chequered floor below the spheres.
fn floor(ray: Ray) -> Option<Hit> {
    let distance = (-0.8 - ray.from.1) / ray.to.1;
    if !(1e-9..1e3).contains(&distance) {
        return None;
    }
    let place = ray.from + ray.to * distance;
    let dark = (place.0.floor() + place.2.floor()).rem_euclid(2.0) < 0.5;
    let colour = Vec3(1.0, 1.0, 1.0) * if dark { 0.2 } else { 0.9 };
    Some(Hit { distance, place, normal: Vec3(0.0, 1.0, 0.0), colour, mirror: 0.0 })
}

fn render(scene: &Scene, [width, height]: [usize; 2], control: &Control) -> Vec<Vec3> {
    let rows = (0..height).into_par_iter().control(control).flat_map_iter(|row| {
        let y = 1.0 - 2.0 * (row as f64 + 0.5) / height as f64;
        (0..width).map(move |column| {
            let x = 2.0 * (column as f64 + 0.5) / width as f64 - 1.0;
            let to = Vec3(1.4 * x, 0.8 * y - 0.2, 2.0).unit();
            scene.colour(Ray { from: Vec3(0.0, 0.8, -1.0), to }, 4)
        })
    });
    rows.collect::<Vec<_>>().expect("nobody cancels it")
}

fn brightness(colour: Vec3) -> f64 {
    (colour.0 + colour.1 + colour.2) / 3.0
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let scene = Scene::new();
    let control = Control::new();
    if let Some(path) = std::env::args().nth(1) {
        let size @ [width, height] = [1_600, 900];
        control.on_progress(Duration::from_millis(200), |now| {
            eprint!("\r{:3.0} %", 100.0 * now.fraction());
        });
        let image = render(&scene, size, &control);
        let mut bytes = format!("P6 {width} {height} 255\n").into_bytes();
        let byte = |part: f64| (part.clamp(0.0, 1.0) * 255.0) as u8;
        bytes.extend(image.iter().flat_map(|c| [byte(c.0), byte(c.1), byte(c.2)]));
        std::fs::write(&path, bytes).map_err(|error| format!("{path}: {error}"))?;
        eprintln!("\r{path} is written");
        return Ok(());
    }
    let size @ [width, _] = [76, 34];
    let image = render(&scene, size, &control);
    for row in image.chunks(width) {
        let letter = |c: &Vec3| char::from(b"#@%*+=-:. "[(brightness(*c) * 9.99) as usize % 10]);
        println!("{}", row.iter().map(letter).collect::<String>());
    }
    let alone = Control::new();
    alone.set_threads(1);
    assert_eq!(image, render(&scene, size, &alone));
    Ok(())
}
