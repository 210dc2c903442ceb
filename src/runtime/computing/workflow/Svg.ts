/** Draws a diagram as a standalone SVG: no script, no external reference, every text escaped. */
import { Graph, layout } from "@dagrejs/dagre"
import type { Diagram, DiagramEdge, DiagramNode } from "../../../domain/workflow/WorkflowAnalysis.js"

/** Draws the diagram with a title and a description for screen readers. All texts are escaped. */
export const drawSvg = (diagram: Diagram): string => {
  const { width, height, nodes, edges } = layOut(diagram)
  const description = diagram.nodes
    .map((node) => `${node.kind === node.label ? node.label : `${node.kind} ${node.label}`}${markText(node)}`)
    .join(", ")
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" class="svc-diagram" role="img" aria-labelledby="svc-diagram-title svc-diagram-steps">`,
    `<title id="svc-diagram-title">Workflow diagram</title>`,
    `<desc id="svc-diagram-steps">${escapeXml(description)}</desc>`,
    `<style>${style}</style>`,
    `<defs>${arrow("svc-arrow", "line")}${arrow("svc-arrow-error", "line-error")}</defs>`,
    `<rect class="svc-paper" width="${width}" height="${height}"/>`,
    ...edges.map(drawEdge),
    ...edges.map(drawEdgeLabel),
    ...nodes.map(drawNode),
    "</svg>"
  ].join("\n")
}

// --- Layout ---

interface Point {
  readonly x: number
  readonly y: number
}
interface PlacedNode extends Point {
  readonly node: DiagramNode
  readonly width: number
  readonly height: number
}
interface PlacedEdge {
  readonly edge: DiagramEdge
  readonly points: ReadonlyArray<Point>
  readonly label: Point | undefined
}

const margin = 24
const nodeText = 13
/** An upper estimate of a text's width in the fonts of `style`. */
const textWidth = (text: string, size: number) => Math.ceil(text.length * size * 0.58)
const maxLabelLength = 44
const truncate = (text: string) => (text.length <= maxLabelLength ? text : `${text.slice(0, maxLabelLength - 1)}…`)

/** Kinds drawn as a pill with their label only; all others are cards that name their kind above the label. */
const pills: ReadonlySet<string> = new Set([
  "start",
  "end",
  "join",
  "parallel",
  "try",
  "finally",
  "return",
  "throw",
  "catch",
  "wait",
  "more"
])

const sizeOf = (node: DiagramNode): { readonly width: number; readonly height: number } => {
  const label = textWidth(truncate(node.label), nodeText)
  if (pills.has(node.kind)) return { width: Math.max(label + 32, 64), height: 32 }
  const kind = textWidth(kindText(node), 10) + 12
  return { width: Math.max(label, kind) + (node.kind === "branch" ? 60 : 36), height: 48 }
}

const layOut = (diagram: Diagram) => {
  const graph = new Graph({ multigraph: true })
  graph.setGraph({ rankdir: "TB", nodesep: 36, edgesep: 18, ranksep: 40, marginx: margin, marginy: margin })
  for (const node of diagram.nodes) graph.setNode(node.id, { ...sizeOf(node) })
  const nodeIds = new Set(diagram.nodes.map((node) => node.id))
  const drawnEdges = diagram.edges.filter((edge) => nodeIds.has(edge.from) && nodeIds.has(edge.to))
  drawnEdges.forEach((edge, at) => {
    const text =
      edge.label === undefined
        ? {}
        : { width: textWidth(truncate(edge.label), 11) + 8, height: 16, labelpos: "c" as const }
    // An edge back to a loop's head is laid out in the opposite direction, so that the head stays above the body.
    const [from, to] = edge.back === true ? [edge.to, edge.from] : [edge.from, edge.to]
    graph.setEdge(from, to, text, String(at))
  })
  layout(graph)
  const nodes: ReadonlyArray<PlacedNode> = diagram.nodes.map((node) => {
    const at: unknown = graph.node(node.id)
    return { node, x: numberOf(at, "x"), y: numberOf(at, "y"), ...sizeOf(node) }
  })
  const edges: ReadonlyArray<PlacedEdge> = drawnEdges.map((edge, at) => {
    const back = edge.back === true
    const [v, w] = back ? [edge.to, edge.from] : [edge.from, edge.to]
    const edgeLayout: unknown = graph.edge({ v, w, name: String(at) })
    const label = edge.label === undefined ? undefined : { x: numberOf(edgeLayout, "x"), y: numberOf(edgeLayout, "y") }
    return { edge, label, points: back ? pointsOf(edgeLayout).toReversed() : pointsOf(edgeLayout) }
  })
  const graphSize: unknown = graph.graph()
  return {
    nodes,
    edges,
    width: Math.ceil(numberOf(graphSize, "width")),
    height: Math.ceil(numberOf(graphSize, "height"))
  }
}

/** dagre writes its results into the objects that it was given; its types do not declare all of these members. */
const numberOf = (from: unknown, member: string): number => {
  const value: unknown = typeof from === "object" && from !== null ? Reflect.get(from, member) : undefined
  return typeof value === "number" && Number.isFinite(value) ? value : 0
}

const pointsOf = (from: unknown): ReadonlyArray<Point> => {
  const points: unknown = typeof from === "object" && from !== null ? Reflect.get(from, "points") : undefined
  return Array.isArray(points) ? points.map((point) => ({ x: numberOf(point, "x"), y: numberOf(point, "y") })) : []
}

// --- Drawing ---

const round = (value: number) => String(Math.round(value * 10) / 10)

/** Escapes XML's five special characters, and replaces control characters and lone surrogates, which XML forbids. */
const escapeXml = (text: string): string =>
  text
    .toWellFormed()
    .replace(/[\p{Cc}\ufffe\uffff]/gu, " ")
    .replace(/[&<>"']/g, (letter) => `&#${letter.charCodeAt(0)};`)

/** The CSS class of a kind: letters only. */
const classOf = (kind: string) => `k-${kind.replace(/[^a-zA-Z]/g, "")}`

const kindNames: ReadonlyMap<string, string> = new Map(
  Object.entries({
    connector: "Connector",
    unified: "Unified API",
    cdm: "Common data model",
    db: "Database",
    state: "State",
    secrets: "Secret",
    envConfig: "Config",
    diff: "Diff",
    fetch: "HTTP request",
    branch: "If",
    loop: "Loop",
    call: "Function"
  })
)
const kindText = (node: DiagramNode): string => kindNames.get(node.kind) ?? node.kind

/** What became of a node in a run, as its class and in words. */
const markClass = ({ mark }: DiagramNode): string => (mark === undefined ? "" : ` svc-${mark}`)
const markText = ({ mark }: DiagramNode): string =>
  mark === undefined ? "" : mark === "none" ? ", did not run" : `, ${mark}`

const drawNode = ({ node, x, y, width, height }: PlacedNode): string => {
  const left = x - width / 2
  const top = y - height / 2
  const where = node.line === undefined ? "" : ` (line ${node.line})`
  const title = `<title>${escapeXml(`${kindText(node)}: ${node.label}${where}${markText(node)}`)}</title>`
  const label = escapeXml(truncate(node.label))
  const open = `<g class="svc-node ${classOf(node.kind)}${markClass(node)}" transform="translate(${round(left)} ${round(top)})">${title}`
  if (pills.has(node.kind)) {
    return `${open}<rect width="${width}" height="${height}" rx="16"/><text class="svc-label" x="${width / 2}" y="${height / 2}">${label}</text></g>`
  }
  const shape =
    node.kind === "branch"
      ? `<polygon points="18,0 ${width - 18},0 ${width},${height / 2} ${width - 18},${height} 18,${height} 0,${height / 2}"/>`
      : `<rect width="${width}" height="${height}" rx="8"/><path class="svc-mark" d="M8 0h-0a8 8 0 0 0 -8 8v${height - 16}a8 8 0 0 0 8 8z" transform="scale(.625 1)"/>`
  const middle = node.kind === "branch" ? width / 2 : width / 2 + 2
  return `${open}${shape}<text class="svc-kind" x="${middle}" y="15">${escapeXml(kindText(node))}</text><text class="svc-label" x="${middle}" y="32">${label}</text></g>`
}

const drawEdge = ({ edge, points }: PlacedEdge): string => {
  const [first] = points
  const last = points.at(-1)
  if (first === undefined || last === undefined) return ""
  let d = `M${round(first.x)} ${round(first.y)}`
  for (let i = 1; i < points.length - 1; i++) {
    const [at, next] = [points[i] ?? last, points[i + 1] ?? last]
    const end = i === points.length - 2 ? next : { x: (at.x + next.x) / 2, y: (at.y + next.y) / 2 }
    d += `Q${round(at.x)} ${round(at.y)} ${round(end.x)} ${round(end.y)}`
  }
  if (points.length === 2) d += `L${round(last.x)} ${round(last.y)}`
  const kind = edge.error === true ? "svc-edge svc-error" : edge.back === true ? "svc-edge svc-back" : "svc-edge"
  return `<path class="${kind}" d="${d}" marker-end="url(#${edge.error === true ? "svc-arrow-error" : "svc-arrow"})"/>`
}

const drawEdgeLabel = ({ edge, label }: PlacedEdge): string =>
  edge.label === undefined || label === undefined
    ? ""
    : `<text class="svc-edge-label${edge.error === true ? " svc-error-label" : ""}" x="${round(label.x)}" y="${round(label.y)}">${escapeXml(truncate(edge.label))}</text>`

const arrow = (id: string, colour: string) =>
  `<marker id="${id}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto-start-reverse"><path class="svc-${colour}" d="M0 .5 7.5 4 0 7.5z"/></marker>`

// --- Colours: one accent per family of steps, in two schemes ---

const families: Readonly<
  Record<string, { readonly kinds: ReadonlyArray<string>; readonly light: string; readonly dark: string }>
> = {
  call: { kinds: ["connector", "unified", "cdm", "fetch"], light: "#2563eb", dark: "#60a5fa" },
  data: { kinds: ["db", "state", "secrets", "envConfig", "diff", "sync"], light: "#0f766e", dark: "#2dd4bf" },
  flow: { kinds: ["branch", "loop", "parallel", "join", "call", "wait"], light: "#7c3aed", dark: "#a78bfa" },
  failure: { kinds: ["try", "catch", "finally", "throw"], light: "#c2410c", dark: "#fb923c" },
  end: { kinds: ["start", "end", "return"], light: "#15803d", dark: "#4ade80" }
}

const familyRules = (scheme: "light" | "dark") =>
  Object.values(families)
    .map((family) => `${family.kinds.map((kind) => `.svc-diagram .k-${kind}`).join(",")}{--a:${family[scheme]}}`)
    .join("")

const paper = {
  light: ".svc-diagram{--bg:#ffffff;--card:#f8fafc;--ink:#0f172a;--soft:#526077;--line:#8593a8;--err:#c2410c}",
  dark: ".svc-diagram{--bg:#0b1220;--card:#141d2f;--ink:#e6edf7;--soft:#9fb0c8;--line:#64748b;--err:#fb923c}"
}

const style = [
  paper.light,
  ".svc-diagram .svc-node{--a:#64748b}",
  familyRules("light"),
  `@media (prefers-color-scheme:dark){${paper.dark}${familyRules("dark")}}`,
  ".svc-diagram text{font-family:ui-sans-serif,system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif;text-anchor:middle;dominant-baseline:central;fill:var(--ink)}",
  ".svc-paper{fill:var(--bg)}",
  ".svc-node rect,.svc-node polygon{fill:var(--card);stroke:var(--a);stroke-width:1.25}",
  ".svc-mark{fill:var(--a)}",
  ".svc-none,.svc-skipped{opacity:.45}.svc-skipped rect,.svc-skipped polygon{stroke-dasharray:4 3}",
  ".svc-diagram .svc-completed{--a:#15803d}.svc-diagram .svc-running{--a:#2563eb}.svc-diagram .svc-failed{--a:var(--err)}",
  ".svc-completed rect,.svc-failed rect,.svc-running rect,.svc-completed polygon,.svc-failed polygon{stroke-width:2.5}",
  `.svc-label{font-size:${nodeText}px}`,
  ".svc-diagram .svc-kind{font-size:10px;letter-spacing:.04em;fill:var(--soft)}",
  ".svc-edge{fill:none;stroke:var(--line);stroke-width:1.5}.svc-back{stroke-dasharray:5 4}.svc-error{stroke:var(--err);stroke-dasharray:2 4;stroke-linecap:round}",
  ".svc-line{fill:var(--line)}.svc-line-error{fill:var(--err)}",
  ".svc-diagram .svc-edge-label{font-size:11px;fill:var(--soft);paint-order:stroke;stroke:var(--bg);stroke-width:5px;stroke-linejoin:round}.svc-diagram .svc-error-label{fill:var(--err)}"
].join("")
