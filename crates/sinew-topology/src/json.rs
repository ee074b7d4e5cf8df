//! The machine as JSON for programs; [`render`](crate::render) is the same for people.

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::cgroup::Quota;
use crate::limits::Limits;
use crate::machine::{Machine, Object};
use sinew_cpus::CpuSet;

/// The machine and the process's limits. The tree is nested objects, each with `level`, `number`,
/// `cache_bytes` (or null), and `children`, or `pus` in cores. Beside it stand `limits`,
/// `distance_levels` and `warnings`.
///
/// CPU sets are lists such as `"0-3,8"`. Later versions may add fields; none will change its
/// meaning.
pub fn to_json(machine: &Machine, limits: &Limits) -> Value {
    let warnings: Vec<String> =
        machine.warnings().iter().chain(limits.warnings()).map(ToString::to_string).collect();
    let mut limits_json = json!(limits);
    limits_json["effective_threads"] = json!(limits.effective_threads());
    json!({
        "source": machine.source(),
        "levels": machine.levels(),
        "distance_levels": machine.distance_names(),
        "kinds": machine.kinds(),
        "nodes": machine.nodes(),
        "node_distances": node_distances(machine),
        "tree": object_json(machine, &machine.objects()[0], limits.allowed()),
        "limits": limits_json,
        "warnings": warnings,
    })
}

fn node_distances(machine: &Machine) -> Vec<Vec<u32>> {
    let nodes = 0..machine.nodes().len();
    nodes.clone().map(|a| nodes.clone().map(|b| machine.node_distance(a, b)).collect()).collect()
}

fn object_json(machine: &Machine, object: &Object, allowed: &CpuSet) -> Value {
    let mut json = json!({
        "level": object.level,
        "number": object.number,
        "cache_bytes": object.cache_bytes,
    });
    if object.children.is_empty() {
        let pu_json =
            |pu: &crate::machine::Pu| json!({ "cpu": pu.cpu, "allowed": allowed.contains(pu.cpu) });
        let pus = &machine.pus()[object.pus.clone()];
        json["kind"] = json!(machine.kinds()[pus[0].kind].name);
        json["pus"] = pus.iter().map(pu_json).collect();
    } else {
        let children = object.children.iter().map(|&child| &machine.objects()[child]);
        json["children"] = children.map(|child| object_json(machine, child, allowed)).collect();
    }
    json
}

impl Serialize for Quota {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Quota", 3)?;
        fields.serialize_field("cpus", &self.cpus())?;
        fields.serialize_field("quota_us", &self.quota_us())?;
        fields.serialize_field("period_us", &self.period_us())?;
        fields.end()
    }
}
