import { assert, describe, it } from "@effect/vitest"
import { Either, FastCheck as fc } from "effect"
import type { Diagram } from "../../src/domain/workflow/WorkflowAnalysis.js"
import { drawSvg } from "../../src/runtime/computing/workflow/Svg.js"
import { analyse } from "../../src/runtime/computing/workflow/Analyse.js"

const diagramOf = (source: string) => Either.getOrThrow(analyse(source)).diagram
const body = (code: string) => `export default async function (ctx) {\n${code}\n}`

/** Nodes as `kind label`, edges as `label → label` with their own label in brackets. */
const told = (diagram: Diagram) => {
  const labels = new Map(diagram.nodes.map((node) => [node.id, node.label]))
  return {
    nodes: diagram.nodes.map((node) => `${node.kind} ${node.label}`),
    edges: diagram.edges.map((edge) => {
      const mark = edge.back === true ? " back" : edge.error === true ? " error" : ""
      return `${labels.get(edge.from)} → ${labels.get(edge.to)}${edge.label === undefined ? "" : ` [${edge.label}]`}${mark}`
    })
  }
}
const drawn = (code: string) => told(diagramOf(body(code)))

describe("the diagram", () => {
  it("shows calls in the order in which they run, with line and column", () => {
    const { nodes, edges } = drawn(`await svc.connector.b.send(await svc.connector.a.list())\nreturn 1`)
    assert.deepStrictEqual(nodes, ["start start", "connector a.list", "connector b.send", "return return 1"])
    assert.deepStrictEqual(edges, ["start → a.list", "a.list → b.send", "b.send → return 1"])
    const [, list] = diagramOf(body("await svc.connector.a.list()")).nodes
    assert.deepInclude(list, { line: 2, column: 7 })
  })

  it("shows branches with both ways, and only those with steps or exits", () => {
    const { edges } = drawn(
      "if (ctx.input.x) { await svc.connector.a.b() } else if (ctx.input.y) return 2\nif (ctx.z) { ctx.q = 1 }\nawait fetch('https://x.example')"
    )
    assert.deepStrictEqual(edges, [
      "start → ctx.input.x",
      "ctx.input.x → a.b [yes]",
      "ctx.input.x → ctx.input.y [no]",
      "ctx.input.y → return 2 [yes]",
      "a.b → https://x.example",
      "ctx.input.y → https://x.example [no]",
      "https://x.example → end"
    ])
  })

  it("draws loops back to their head, and breaks out of them", () => {
    const { edges } = drawn(
      "for (const x of ctx.input) { if (x.skip) continue; if (x.last) break; await svc.connector.a.b(x) }"
    )
    assert.deepStrictEqual(edges, [
      "start → each of ctx.input",
      "each of ctx.input → x.skip [each]",
      "x.skip → x.last [no]",
      "x.last → a.b [no]",
      "a.b → each of ctx.input [next] back",
      "x.skip → each of ctx.input [yes] back",
      "each of ctx.input → end [done]",
      "x.last → end [yes]"
    ])
  })

  it("supports labels, and loops that only break ends", () => {
    const { nodes, edges } = drawn(
      "outer: for (;;) { for (const x of ctx.input) { if (x.done) break outer; await svc.connector.a.b(x) } }\nawait svc.connector.a.after()"
    )
    assert.includeMembers(nodes, ["loop forever", "loop each of ctx.input"])
    assert.include(edges, "x.done → a.after [yes]")
    assert.notInclude(edges.join(), "forever → a.after")
  })

  it("shows parallel branches, and where they join", () => {
    const { nodes, edges } = drawn(
      "await Promise.all([svc.connector.a.x(), svc.db.query('select 1')])\nawait Promise.race(ctx.input.map((i) => svc.connector.b.y(i)))"
    )
    assert.includeMembers(nodes, ["parallel Promise.all", "join all done", "parallel Promise.race", "join first done"])
    assert.includeMembers(edges, [
      "Promise.all → a.x",
      "Promise.all → query",
      "a.x → all done",
      "query → all done",
      "b.y → each of ctx.input [next] back"
    ])
  })

  it("shows try, catch and finally", () => {
    const { edges } = drawn(
      "try { await svc.connector.a.b() } catch (error) { throw error } finally { await svc.state.set('k', 1) }"
    )
    assert.deepStrictEqual(edges, [
      "start → try",
      "try → a.b",
      "try → catch error [error] error",
      "catch error → throw error",
      "a.b → finally",
      "finally → set k",
      "set k → end"
    ])
  })

  it("shows switches with cases that fall through, waits and secrets", () => {
    const { nodes, edges } = drawn(
      "switch (ctx.kind) { case 1: case 2: await svc.connector.a.b(); break; default: await new Promise((r) => setTimeout(r, 500)) }\nawait svc.secrets.get('KEY')"
    )
    assert.includeMembers(nodes, ["wait wait 500 ms", "secrets get KEY"])
    assert.includeMembers(edges, [
      "ctx.kind → a.b [1]",
      "ctx.kind → a.b [2]",
      "ctx.kind → wait 500 ms [default]",
      "a.b → get KEY"
    ])
  })

  it("draws a local function at its first call, and continues after it", () => {
    const { edges } = drawn(
      "async function note(x) { if (!x) return; await svc.connector.a.b(x) }\nawait note(1)\nawait note(2)"
    )
    assert.deepStrictEqual(edges, [
      "start → note()",
      "note() → !x",
      "!x → a.b [no]",
      "a.b → note()",
      "!x → note() [yes]",
      "note() → end"
    ])
  })

  it("of recursive functions is finite", () => {
    assert.isBelow(
      drawn("const again = async () => { await svc.connector.a.b(); await again() }\nawait again()").nodes.length,
      10
    )
  })

  it("has edges only between its own nodes, whatever the code", () => {
    const codes = [
      "return 1",
      "throw 1",
      "await Promise.constructor([fetch(1)])",
      "while (true) { await svc.connector.a.b() }",
      "break_: { break break_ }",
      "do { await fetch('x') } while (await svc.state.get('x'))",
      "for (let i = await svc.state.get('i'); i < 3; i++) await fetch(i)",
      "try { return 1 } finally { await svc.state.set('x', 1) }",
      "a && await svc.connector.a.b() ? await fetch(1) : 2"
    ]
    for (const code of codes) {
      const diagram = diagramOf(body(code))
      const ids = new Set(diagram.nodes.map((node) => node.id))
      assert.strictEqual(ids.size, diagram.nodes.length)
      for (const edge of diagram.edges) assert.isTrue(ids.has(edge.from) && ids.has(edge.to), code)
    }
  })

  it("has a bounded number of nodes, and says that further steps are omitted", () => {
    const diagram = diagramOf(body("await svc.connector.a.b()\n".repeat(2_000)))
    assert.strictEqual(diagram.nodes.length, 120)
    assert.deepInclude(diagram.nodes.at(-1), { kind: "more", label: "more steps than are drawn" })
  })
})

describe("the SVG", () => {
  /** The tags of a document in order; throws if it is not well-formed. */
  const elements = (svg: string): ReadonlyArray<string> => {
    const open: Array<string> = []
    const seen: Array<string> = []
    const rest = svg.replace(
      /<(\/?)([a-zA-Z]+)((?:\s+[\w:-]+="[^"<>]*")*)\s*(\/?)>/g,
      (_, closing: string, name: string, __, empty: string) => {
        if (closing === "/") assert.strictEqual(open.pop(), name)
        else {
          seen.push(name)
          if (empty === "") open.push(name)
        }
        return ""
      }
    )
    assert.deepStrictEqual(open, [])
    assert.notMatch(rest, /</)
    return seen
  }
  const allowed = ["svg", "title", "desc", "style", "defs", "marker", "path", "rect", "g", "text", "polygon"]

  it("is a standalone, titled image in light and dark without external references", () => {
    const svg = drawSvg(diagramOf(body("await svc.connector.crm.list()")))
    assert.match(svg, /^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg" viewBox="0 0 \d+ \d+"/)
    assert.include(svg, `role="img"`)
    assert.match(svg, /<title id="[^"]+">Workflow diagram<\/title>/)
    assert.include(svg, "prefers-color-scheme:dark")
    assert.include(svg, ">crm.list</text>")
    assert.notMatch(svg.replace("http://www.w3.org/2000/svg", ""), /https?:|href|@import|<script|<foreignObject/)
    assert.includeMembers([...allowed], [...new Set(elements(svg))])
  })

  it("contains only text of the source, no markup", () => {
    const evil = `</text></svg><script>alert(1)</script><svg onload="alert(1)"> ' & ]]> --> <!-- \u0000\u0007\ud800`
    const literal = JSON.stringify(evil)
    const svg = drawSvg(
      diagramOf(
        body(
          `if (ctx[${literal}]) { await svc.connector[${literal}][${literal}](); await fetch(${literal}) }\nreturn ${literal}`
        )
      )
    )
    assert.includeMembers([...allowed], [...new Set(elements(svg))])
    assert.notInclude(svg, 'onload="')
  })

  it.prop(
    "is well-formed for any diagram",
    [
      fc.array(
        fc.record({
          kind: fc.oneof(fc.constantFrom("connector", "branch", "loop", "wait"), fc.string()),
          label: fc.oneof(fc.string(), fc.fullUnicodeString())
        }),
        { maxLength: 8 }
      ),
      fc.array(fc.tuple(fc.nat(9), fc.nat(9), fc.string(), fc.boolean()), { maxLength: 12 })
    ],
    ([nodes, edges]) => {
      const svg = drawSvg({
        nodes: nodes.map((node, at) => ({ id: `n${at}`, ...node })),
        edges: edges.map(([from, to, label, back]) => ({ from: `n${from}`, to: `n${to}`, label, back }))
      })
      assert.includeMembers([...allowed], [...new Set(elements(svg))])
      assert.notMatch(svg, /NaN|undefined/)
    }
  )

  it("of the largest diagram has all its nodes", () => {
    const chain = diagramOf(
      body(
        `for (const x of ctx.input) {\n${"if (x.a) { await svc.connector.a.b() } else { try { await fetch('x') } catch { continue } }\n".repeat(400)}}`
      )
    )
    const svg = drawSvg(chain)
    assert.strictEqual(svg.match(/<g class="svc-node/g)?.length, 120)
  })
})
