//! Estimates the cost of rendering from the tree: the memory of layers that exist at the same time, and the
//! work in pixels.
//!
//! `resvg` renders a group with opacity, mask, clip path or filter into a separate layer, which may be up to
//! five times as wide and high as the canvas. A filter stores the result of each of its steps. A pattern is
//! rendered again for each path, with the tile size that it declares.

use std::collections::HashMap;
use std::ops::Range;

use resvg::tiny_skia::Transform;
use resvg::usvg::filter::{Filter, Kind};
use resvg::usvg::{ClipPath, Group, ImageKind, Mask, Node, Paint, Path, Rect, Stroke, Tree};

use super::work;
use crate::problem::Problem;
use crate::room::Room;

/// Memory of the tree and the text, in bytes.
const TREE: f64 = 90.0 * 1024.0 * 1024.0;
/// Maximum work, in pixels that are filled once: a few seconds.
const MAX_WORK: f64 = 5e8;
/// Bytes per pixel of a layer.
const LAYER: f64 = 4.0;
/// Bytes per point of a path that is filled or stroked.
const POINT: f64 = 200.0;
/// Work per point of a path. `PATH_WORK` is the work per path.
const POINT_WORK: f64 = 100.0;
const PATH_WORK: f64 = 1000.0;
/// Work per pixel with a computed color.
const GRADIENT_WORK: f64 = 2.5;
/// Work per pixel of a path's length, because edges are traced in four lines per row.
const EDGE_WORK: f64 = 20.0;

/// Returns the canvas size at a scale.
pub(super) fn canvas(tree: &Tree, scale: f32) -> (u32, u32) {
    let edge = |length: f32| ((length * scale).round() as u32).max(1);
    (edge(tree.size().width()), edge(tree.size().height()))
}

/// Returns the largest scale up to `wanted` at which the drawing is affordable.
pub(super) fn affordable(tree: &Tree, wanted: f32, smaller: [f32; 4], room: Room) -> Result<f32, Problem> {
    let memory = room.bytes() as f64 - TREE;
    let mut most = Cost::default();
    for scale in std::iter::once(wanted).chain(smaller.into_iter().filter(|scale| *scale < wanted)) {
        let size = canvas(tree, scale);
        let area = f64::from(size.0) * f64::from(size.1);
        let mut estimate = Estimate { width: size.0.into(), height: size.1.into(), known: HashMap::new() };
        let cost = estimate.group(tree.root(), Scale::of(Transform::from_scale(scale, scale)));
        most = Cost { memory: cost.memory + area * LAYER, work: cost.work + area };
        if most.memory <= memory && most.work <= MAX_WORK {
            return Ok(scale);
        }
    }
    if most.memory > memory {
        let mib = |bytes: f64| (bytes / 1024.0 / 1024.0).ceil();
        return Err(work(format!(
            "its layers, patterns and paths take {} MiB of memory, and {} MiB are left for that",
            mib(most.memory),
            mib(memory)
        )));
    }
    Err(work("its paths and effects cover too much area".to_owned()))
}

/// Peak memory in bytes, and total work in pixels.
#[derive(Debug, Clone, Copy, Default)]
struct Cost {
    memory: f64,
    work: f64,
}

impl Cost {
    /// Combines costs of consecutive steps.
    fn then(self, other: Self) -> Self {
        Self { memory: self.memory.max(other.memory), work: self.work + other.work }
    }

    /// Adds memory that is allocated during the step.
    fn holding(self, memory: f64, work: f64) -> Self {
        Self { memory: self.memory + memory, work: self.work + work }
    }
}

/// Canvas pixels per unit of the tree, horizontally and vertically.
#[derive(Debug, Clone, Copy)]
struct Scale {
    x: f32,
    y: f32,
}

impl Scale {
    fn of(transform: Transform) -> Self {
        let (x, y) = transform.get_scale();
        Self { x, y }
    }
}

struct Estimate {
    width: f64,
    height: f64,
    /// Costs of shared elements, by address and scale.
    known: HashMap<(usize, u32, u32), Cost>,
}

impl Estimate {
    fn shared<T>(&mut self, thing: &T, scale: Scale, estimate: impl FnOnce(&mut Self) -> Cost) -> Cost {
        let key = (std::ptr::from_ref(thing).addr(), scale.x.to_bits(), scale.y.to_bits());
        if let Some(cost) = self.known.get(&key) {
            return *cost;
        }
        let cost = estimate(self);
        self.known.insert(key, cost);
        cost
    }

    /// Returns the pixels of an area in the drawing's units. `resvg` clips the area two canvases away.
    fn pixels(&self, area: Rect, scale: Scale) -> f64 {
        let length = |low: f32, high: f32, scale: f32, edge: f64| {
            let reach: Range<f64> = -2.0 * edge..3.0 * edge;
            let clamp = |at: f32| f64::from(at * scale).clamp(reach.start, reach.end);
            clamp(high) - clamp(low) + 4.0
        };
        length(area.left(), area.right(), scale.x, self.width)
            * length(area.top(), area.bottom(), scale.y, self.height)
    }

    fn group(&mut self, group: &Group, scale: Scale) -> Cost {
        let mut cost = Cost::default();
        for node in group.children() {
            let child = self.node(node, scale);
            cost = cost.then(child);
        }
        if !group.should_isolate() {
            return cost;
        }
        let layer = self.pixels(group.abs_layer_bounding_box().to_rect(), scale);
        for filter in group.filters() {
            let filter = self.filter(filter, layer, scale);
            cost = cost.then(filter);
        }
        if let Some(clip) = group.clip_path() {
            let clip = self.clip(clip, layer, scale);
            cost = cost.then(clip);
        }
        if let Some(mask) = group.mask() {
            let mask = self.mask(mask, layer, scale);
            cost = cost.then(mask);
        }
        cost.holding(layer * LAYER, layer * 3.0)
    }

    fn node(&mut self, node: &Node, scale: Scale) -> Cost {
        match node {
            Node::Group(group) => self.group(group, scale),
            Node::Path(path) => self.path(path, scale),
            Node::Text(text) => self.group(text.flattened(), scale),
            Node::Image(image) => match image.kind() {
                ImageKind::SVG(tree) => self.group(tree.root(), scale),
                // Decoded each time it is drawn; at most 1024 pixels per edge (see `pictures`).
                _ => Cost { memory: 3.0 * LAYER * 1024.0 * 1024.0, work: 4e6 },
            },
        }
    }

    fn path(&mut self, path: &Path, scale: Scale) -> Cost {
        let points = path.data().points().len() as f64;
        let area = self.pixels(path.abs_stroke_bounding_box(), scale);
        let whole = Transform::from_scale(scale.x, scale.y).pre_concat(path.abs_transform());
        let length = length(path);
        let drawn = Scale::of(whole);
        let edges = length * f64::from(drawn.x.max(drawn.y)) * EDGE_WORK;
        let mut cost = Cost { memory: points * POINT, work: PATH_WORK + points * POINT_WORK };
        let strokes = path.stroke().map(Stroke::paint);
        for paint in path.fill().map(resvg::usvg::Fill::paint).into_iter().chain(strokes) {
            let colours = if matches!(paint, Paint::Color(_)) { 1.0 } else { GRADIENT_WORK };
            cost.work += area * colours + edges;
            let pattern = self.paint(paint, whole);
            cost = Cost { memory: cost.memory + pattern.memory, work: cost.work + pattern.work };
        }
        let dashes = path.stroke().map_or(0.0, |stroke| dashes(length, stroke));
        cost.holding(dashes * POINT, dashes * POINT_WORK)
    }

    fn paint(&mut self, paint: &Paint, whole: Transform) -> Cost {
        let Paint::Pattern(pattern) = paint else { return Cost::default() };
        let inner = Scale::of(whole.pre_concat(pattern.transform()));
        let rect = pattern.rect();
        let tile = f64::from(rect.width() * inner.x) * f64::from(rect.height() * inner.y);
        let content = self.shared(pattern.as_ref(), inner, |this| this.group(pattern.root(), inner));
        content.holding(tile * LAYER, tile)
    }

    fn clip(&mut self, clip: &ClipPath, layer: f64, scale: Scale) -> Cost {
        let content = self.shared(clip, scale, |this| this.group(clip.root(), scale));
        let nested = clip.clip_path().map_or(Cost::default(), |clip| self.clip(clip, layer, scale));
        content.then(nested).holding(2.0 * layer * LAYER, 3.0 * layer)
    }

    fn mask(&mut self, mask: &Mask, layer: f64, scale: Scale) -> Cost {
        let content = self.shared(mask, scale, |this| this.group(mask.root(), scale));
        let nested = mask.mask().map_or(Cost::default(), |mask| self.mask(mask, layer, scale));
        content.then(nested).holding(2.0 * layer * LAYER, 4.0 * layer)
    }

    fn filter(&mut self, filter: &Filter, layer: f64, scale: Scale) -> Cost {
        let mut cost = Cost::default();
        // The input, a color-converted copy of it, and the result of each step.
        let mut held = 3.0;
        for step in filter.primitives() {
            held += 1.0;
            if let Kind::Image(image) = step.kind() {
                let image = self.shared(image.root(), scale, |this| this.group(image.root(), scale));
                cost = cost.then(image);
            }
            cost.work += layer * weight(step.kind(), scale);
        }
        cost.holding(held * layer * LAYER, 4.0 * layer)
    }
}

/// Returns the work per pixel of a filter step.
fn weight(kind: &Kind, scale: Scale) -> f64 {
    match kind {
        Kind::Turbulence(turbulence) => 40.0 * f64::from(turbulence.num_octaves().max(1)),
        Kind::Morphology(morphology) => {
            let side = |radius: f32, scale: f32| f64::from(2.0 * radius * scale + 2.0);
            side(morphology.radius_x().get(), scale.x) * side(morphology.radius_y().get(), scale.y)
        }
        Kind::ConvolveMatrix(convolve) => {
            4.0 * f64::from(convolve.matrix().columns()) * f64::from(convolve.matrix().rows())
        }
        Kind::GaussianBlur(_) | Kind::DropShadow(_) => 20.0,
        Kind::DiffuseLighting(_) | Kind::SpecularLighting(_) => 40.0,
        _ => 8.0,
    }
}

/// Returns the approximate number of dashes of a stroke.
fn dashes(length: f64, stroke: &Stroke) -> f64 {
    let Some(pattern) = stroke.dasharray() else { return 0.0 };
    let turn = f64::from(pattern.iter().sum::<f32>()).max(1e-6);
    length / turn * pattern.len() as f64
}

/// Returns the length of a path in its own units, with curve handles counted as corners.
fn length(path: &Path) -> f64 {
    path.data().points().windows(2).map(|pair| f64::from(pair[0].distance(pair[1]))).sum()
}
