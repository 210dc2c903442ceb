import { createContext, runInContext } from "node:vm"
import { assert, describe, it } from "@effect/vitest"
import { Either } from "effect"
import { firstLineShift } from "../../src/runtime/computing/workflow/Compile.js"
import { analyse } from "../../src/runtime/computing/workflow/Analyse.js"
import { largeSources } from "../support/largeSources.js"

const accepted = (source: string) =>
  Either.getOrThrowWith(analyse(source), (issues) => new Error(JSON.stringify(issues)))
const issues = (source: string) => Either.match(analyse(source), { onLeft: (found) => found, onRight: () => [] })
const codes = (source: string) => issues(source).map((issue) => issue.code)
const bindings = (source: string) => accepted(source).bindings.map(({ connector, action }) => `${connector}.${action}`)
const warnings = (source: string) =>
  accepted(source).warnings.map((issue) => `${issue.code} ${issue.line}:${issue.column}`)
const body = (code: string) => `export default async function (ctx) {\n${code}\n}`

/** Runs the script as the sandbox does, without the sandbox's globals. */
const load = (script: string): ((ctx: unknown) => Promise<unknown>) => {
  const context = createContext({ console })
  runInContext(script, context, { filename: "workflow.js" })
  const found: unknown = Reflect.get(context, "__workflow")
  if (typeof found !== "function") throw new Error("the script sets no function")
  return (ctx) => Promise.resolve(Reflect.apply(found, undefined, [ctx]))
}

describe("the script", () => {
  const forms: Readonly<Record<string, string>> = {
    anonymous: "export default async function (ctx) { return ctx.input }",
    named: "export default async function main(ctx) { return main.name === 'main' && ctx.input }",
    arrow: "export default async (ctx) => ctx.input",
    parenthesised: "export default (async (ctx) => ctx.input);",
    byName: "async function main(ctx) { return ctx.input }\nexport default main",
    byConst: "const main = async (ctx) => ctx.input; export default main",
    spread: "export\n/* default */ // default\n  default async function (ctx) { return ctx.input } // the end",
    helpers:
      "const two = () => 2\nexport default async function (ctx) { return helper(ctx) }\nfunction helper(ctx) { return two() && ctx.input }",
    callable:
      "const itself = () => main\nexport default async function main(ctx) { return itself() === main && ctx.input }",
    followed:
      "let seen = 0\nexport default async function (ctx) { return seen === 1 && ctx.input }\n(function () { seen = 1 })()",
    bom: "\ufeffexport default async function (ctx) { return ctx.input }"
  }
  for (const [name, source] of Object.entries(forms)) {
    it(`runs the default export (${name})`, async () => {
      assert.strictEqual(await load(accepted(source).script)({ input: "in" }), "in")
    })
  }

  it("is strict and has no global but the workflow", async () => {
    const script = accepted(
      "var leaked = 1\nfunction alsoLeaked() {}\nexport default async function () { return [this === undefined, typeof globalThis.leaked, typeof globalThis.alsoLeaked] }"
    ).script
    assert.deepStrictEqual(
      await load(script)({}).then((value) => JSON.stringify(value)),
      `[true,"undefined","undefined"]`
    )
  })

  it("keeps lines and columns: a stack trace points at the source", async () => {
    const source = `const x = 1\nexport default async function (ctx) { ${" ".repeat(10)}throw new Error("here")\n}`
    const stack = await load(accepted(source).script)({}).then(
      () => "",
      (error: Error) => error.stack ?? ""
    )
    const column = (source.split("\n")[1] ?? "").indexOf("new Error") + 1
    assert.include(stack, `workflow.js:2:${column}`)
  })

  it("shifts only the first line, by a known number of columns", async () => {
    const source = `export default async function (ctx) { throw new Error("here") }`
    const stack = await load(accepted(source).script)({}).then(
      () => "",
      (error: Error) => error.stack ?? ""
    )
    assert.include(stack, `workflow.js:1:${source.indexOf("new Error") + 1 + firstLineShift}`)
  })
})

describe("a source that cannot become a workflow", () => {
  it("is reported with line and column of a syntax error", () => {
    const [issue] = issues("export default async function (ctx) {\n  const a = ;\n}")
    assert.deepInclude(issue, { code: "SYNTAX_ERROR", line: 2, column: 13 })
    assert.notMatch(issue?.message ?? "", /\(\d+:\d+\)/)
  })

  it("is reported with what is wrong with the exports", () => {
    assert.deepStrictEqual(codes(""), ["NO_DEFAULT_EXPORT"])
    assert.deepStrictEqual(codes("const a = 1"), ["NO_DEFAULT_EXPORT"])
    assert.deepStrictEqual(codes("export default 42"), ["DEFAULT_NOT_FUNCTION"])
    assert.deepStrictEqual(codes("export default class {}"), ["DEFAULT_NOT_FUNCTION"])
    assert.deepStrictEqual(codes("let main = async () => 1; export default main"), ["DEFAULT_NOT_FUNCTION"])
    assert.deepStrictEqual(codes("export default function (ctx) {}"), ["DEFAULT_NOT_ASYNC"])
    assert.deepStrictEqual(codes("export default (ctx) => 1"), ["DEFAULT_NOT_ASYNC"])
    assert.deepStrictEqual(codes("export default async function* (ctx) {}"), ["DEFAULT_NOT_ASYNC"])
    assert.deepStrictEqual(codes("export const a = 1\nexport default async () => 1"), ["EXPORT_NOT_ALLOWED"])
    assert.deepStrictEqual(codes(`export * from "x"\nimport y from "y"\nexport default async () => 1`), [
      "EXPORT_NOT_ALLOWED",
      "IMPORT_NOT_ALLOWED"
    ])
  })

  it("may declare no name twice, however many names it declares", () => {
    const many = Array.from({ length: 100 }, (_, at) => `let v${at}`).join("\n")
    assert.deepStrictEqual(
      issues(body(`${many}\nlet v99`)).map(({ code, line }) => [code, line]),
      [["SYNTAX_ERROR", 102]]
    )
    assert.deepStrictEqual(codes(body(`${many}\n{ let v99 }`)), [])
  })

  it("has import(), import.meta or await outside of a function", () => {
    assert.deepStrictEqual(codes(body(`await import("fs")`)), ["DYNAMIC_IMPORT"])
    assert.deepStrictEqual(codes(body(`return import.meta.url`)), ["DYNAMIC_IMPORT"])
    assert.deepStrictEqual(codes(`await svc.state.get("x")\n${body("")}`), ["SYNTAX_ERROR"])
  })

  it("has a regular expression with the flag v, which the engine computes wrongly", () => {
    assert.deepStrictEqual(codes(body("return /[\\p{L}--[a-z]]/v.test(ctx.input)")), ["REGEXP_FLAG_V"])
    assert.deepStrictEqual(codes(body('return [new RegExp(ctx.input, "gv"), RegExp("a", `v`)]')), [
      "REGEXP_FLAG_V",
      "REGEXP_FLAG_V"
    ])
    assert.deepStrictEqual(codes(body('return [/v/u, new RegExp("v", "u"), other.RegExp("a", "v")]')), [])
  })

  it("has operators that a script would read as a comment, since other code would run than was checked", () => {
    assert.deepStrictEqual(codes(body("if (ctx<!--ctx) { await svc.connector.a.b() }")), ["SYNTAX_ERROR"])
    assert.deepStrictEqual(codes(body("ctx\n--> svc.connector.a.b()")), ["SYNTAX_ERROR"])
    assert.deepStrictEqual(codes(body("ctx /* \n */ --> svc.connector.a.b()")), ["SYNTAX_ERROR"])
    assert.deepStrictEqual(codes(body(`let n = 3; while (n --> 0) await svc.state.get("<!-- -->")`)), [])
  })

  it("has more than 512 KiB, counted in bytes", () => {
    const comment = (bytes: number) => `${body("")}/*${"ä".repeat(bytes / 2)}*/`
    assert.deepStrictEqual(codes(comment(512 * 1024)), ["SOURCE_TOO_LARGE"])
    assert.deepStrictEqual(codes(comment(511 * 1024)), [])
  })
})

describe("bindings", () => {
  it("are found in every spelling", () => {
    const spellings = [
      "svc.connector.crm.list()",
      "svc.connectors.crm.list()",
      "ctx.connectors.crm.list()",
      `svc.connector["crm"]["list"]()`,
      "svc.connector[`crm`].list()",
      "svc?.connector?.crm?.list?.()",
      "(svc.connector.crm).list()",
      "globalThis.svc.connector.crm.list()",
      "const { connector } = svc; connector.crm.list()",
      "const { crm } = svc.connectors; crm.list()",
      "const { connectors: { crm: { list } } } = ctx; list()",
      "const { crm: c } = ctx.connectors; c.list()",
      "const c = svc.connector.crm; c.list()",
      "const list = svc.connector.crm.list; list()",
      "let c; c = svc.connector.crm; c.list()",
      "const { crm = null, ...rest } = svc.connector; crm.list()",
      "const { ...all } = svc.connector; all.crm.list()",
      "const s = svc; s.connector.crm.list()",
      "[1].map(svc.connector.crm.list)",
      "const use = (c) => c.list(); use(svc.connector.crm)",
      "const c = ctx.input ? svc.connector.crm : svc.connector.crm; c.list()",
      "await Promise.all([1].map(async (x) => svc.connector.crm.list(x)))"
    ]
    for (const spelling of spellings) assert.deepStrictEqual(bindings(body(spelling)), ["crm.list"], spelling)
    assert.deepStrictEqual(bindings("export default async ({ connectors: { crm } }) => crm.list()"), ["crm.list"])
    assert.deepStrictEqual(
      bindings("export default async function ({ connectors }) { return connectors.crm.list() }"),
      ["crm.list"]
    )
    assert.deepStrictEqual(
      bindings("const go = (context) => context.connectors.crm.list()\nexport default async (ctx) => go(ctx)"),
      ["crm.list"]
    )
  })

  it("are complete if one name means two connectors", () => {
    const code =
      "const a = async () => { const api = svc.connector.a; await api.x() }\nconst b = async () => { const api = svc.connector.b; await api.y() }"
    assert.includeMembers(bindings(body(code)), ["a.x", "b.y"])
  })

  it("are listed once, in the order of the code, calls of records included, without other services", () => {
    assert.deepStrictEqual(
      bindings(
        body(
          `await svc.connector.b.x(); await svc.connector.a.y(); await svc.connector.b.x(); await svc.unified.crm.contact.list(); await svc.unified.crm.contact.all({}); await svc.cdm.order.get("1"); await svc.state.get("a")`
        )
      ),
      ["b.x", "a.y", "unified.crm.contact.list", "cdm.order.get"]
    )
    assert.deepStrictEqual(
      bindings(
        body(`const other = { connector: { crm: { list() {} } } }; other.connector.crm.list(); "svc.connector.a.b"`)
      ),
      []
    )
  })

  it("have a star for records whose name is computed, without a warning: they need no binding to be called", () => {
    for (const code of ["await svc.unified[ctx.input.category].contact.list()", "return send(svc.unified.crm)"]) {
      assert.deepStrictEqual(bindings(body(code)), ["unified.*"], code)
      assert.deepStrictEqual(warnings(body(code)), [], code)
    }
  })

  it("have a star instead of a computed name, with a warning", () => {
    const cases: Readonly<Record<string, string>> = {
      "await svc.connector[ctx.input.slug].list()": "*.list",
      "await svc.connector.crm[ctx.input.action]()": "crm.*",
      "await svc.connector[ctx.input.a][ctx.input.b]()": "*.*",
      "return send(svc.connector.crm)": "crm.*",
      "return send(svc.connector)": "*.*",
      "return send(svc)": "*.*"
    }
    for (const [code, expected] of Object.entries(cases)) {
      assert.deepStrictEqual(bindings(body(code)), [expected], code)
      assert.include(warnings(body(code)).join(), "DYNAMIC_NAME 2:", code)
    }
  })
})

describe("warnings", () => {
  it("for host calls that are not awaited", () => {
    const lost = [
      "svc.connector.crm.list()",
      "svc.connector.crm.list().then(console.log)",
      "void svc.connector.crm.list()",
      "svc.connector.crm.list().catch(() => {})",
      "return svc.connector.crm.list().items",
      "svc.state?.set('a', 1)"
    ]
    for (const code of lost) assert.match(warnings(body(code)).join(), /^NOT_AWAITED 2:/, code)
    const kept = [
      "await svc.connector.crm.list()",
      "return svc.connector.crm.list()",
      "const p = svc.connector.crm.list(); await p",
      "await Promise.all([svc.connector.crm.list()])",
      "return (await svc.connector.crm.list()).items",
      "await svc.connector.crm.list().catch(() => null)",
      "const all = [1].map((x) => svc.connector.crm.list(x)); await Promise.all(all)"
    ]
    for (const code of kept) assert.deepStrictEqual(warnings(body(code)), [], code)
  })

  it("for unreachable code", () => {
    assert.deepStrictEqual(warnings(body("return 1\nconsole.log(2)\nconsole.log(3)")), ["UNREACHABLE 3:1"])
    assert.deepStrictEqual(warnings(body("if (ctx) { return 1 } else { throw 2 }\nctx.x()")), ["UNREACHABLE 3:1"])
    assert.deepStrictEqual(warnings(body("for (const a of ctx.input) { continue; a() }")).length, 1)
    assert.deepStrictEqual(warnings(body("return later()\nfunction later() {}")), [])
    assert.deepStrictEqual(warnings(body("try { return 1 } catch { ctx.x() }\nctx.y()")), [])
  })

  it("for SQL that is not constant", () => {
    const sql = (argument: string) =>
      warnings(`const table = "t"\nlet changing = "u"\n${body(`await svc.db.query(${argument})`)}`)
    for (const good of [`"select 1"`, "`select 1`", `"a" + "b"`, "`select ${table}`", `table`])
      assert.deepStrictEqual(sql(good), [], good)
    for (const bad of ["ctx.input.sql", "`select ${ctx.input.id}`", `"a" + ctx.input.id`, "changing", ""])
      assert.match(sql(bad).join(), /^DYNAMIC_SQL 4:/, bad)
  })

  it("for services that do not exist and incomplete calls", () => {
    assert.match(warnings(body("await svc.conector.crm.list()")).join(), /^UNKNOWN_CALL/)
    assert.match(warnings(body("await svc.connector.crm()")).join(), /UNKNOWN_CALL/)
    assert.deepStrictEqual(
      warnings(
        body(
          `await svc.envConfig.get("A"); await svc.diff.compare({}); await svc.sync.upsert({}); await svc.unified.crm.contact.list()`
        )
      ),
      []
    )
  })
})

describe("hostile source", () => {
  const deep = (open: string, close: string, times: number) =>
    body(`return ${open.repeat(times)}1${close.repeat(times)}`)
  const nested: Readonly<Record<string, string>> = {
    parentheses: deep("(", ")", 100_000),
    arrays: deep("[", "]", 100_000),
    calls: deep("f(", ")", 100_000),
    additions: body(`return 1${"+1".repeat(200_000)}`),
    members: body(`return a${".b".repeat(200_000)}`),
    chainedCalls: body(`return a${".b()".repeat(100_000)}`),
    blocks: body(`${"{".repeat(100_000)}${"}".repeat(100_000)}`),
    ifs: body(`${"if(1)".repeat(80_000)};`),
    elses: body(`${"if(1);else ".repeat(40_000)};`),
    functions: body(`return ${"()=>".repeat(100_000)}1`),
    templates: deep("`${", "}`", 80_000),
    patterns: body(`const ${"[".repeat(100_000)}a${"]".repeat(100_000)} = 1`)
  }
  for (const [name, source] of Object.entries(nested)) {
    it(`that nests very deeply is refused or read, and never crashes (${name})`, () => {
      for (const found of issues(source)) assert.include(["NESTED_TOO_DEEPLY", "TOO_COMPLEX"], found.code)
    })
  }

  for (const [name, source] of Object.entries(largeSources)) {
    it(`of 512 KiB is analysed (${name})`, () => {
      const result = analyse(source)
      if (Either.isRight(result)) assert.isAtMost(result.right.diagram.nodes.length, 120)
      else assert.strictEqual(result.left[0]?.code, "TOO_COMPLEX")
    })
  }
})
