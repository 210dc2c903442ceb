/** What a widget may say: origins as browsers send them, colours that can be read, schemas of which a form can be made. */
import { assert, describe, it } from "@effect/vitest"
import { Either, Schema } from "effect"
import { EmbedOrigin, EmbedOrigins, embedOrigins } from "../../src/domain/access/EmbedOrigin.js"
import { contentOf, isSameContent, Widget, widgetLimits, widgetParts } from "../../src/domain/organisation/Widget.js"
import { closedForm, formMistakes, formValues, withFormValues } from "../../src/domain/organisation/WidgetForm.js"
import { contrastRatio } from "../../src/domain/organisation/Contrast.js"
import { WidgetTheme } from "../../src/domain/organisation/WidgetTheme.js"
import { pathText } from "../../src/domain/Issues.js"
import { decodeStrict } from "../../src/domain/SchemaIssues.js"

/** The place and the words of the first mistake in a value; `undefined`: there is none. */
const mistakeOf = <A, I>(schema: Schema.Schema<A, I>, value: unknown): readonly [string, string] | undefined =>
  Either.match(decodeStrict(schema)(value), {
    onLeft: ([issue]) => [pathText(issue?.path ?? []), issue?.message ?? ""] as const,
    onRight: () => undefined
  })

describe("an origin", () => {
  it.each([
    "https://app.example.com",
    "https://app.example.com:8443",
    "https://xn--mnchen-3ya.example",
    "https://a_b.example",
    "https://192.0.2.7",
    "https://[2001:db8::1]",
    "https://localhost",
    "http://localhost",
    "http://localhost:3000",
    "http://127.0.0.1:3000",
    "http://[::1]:3000"
  ])("%s is accepted as browsers send it", (origin) => {
    assert.isUndefined(mistakeOf(EmbedOrigin, origin))
    assert.strictEqual(new URL(origin).origin, origin)
  })

  it.each([
    ["https://app.example.com/", "https://app.example.com"],
    ["https://app.example.com/page?a=1#b", "https://app.example.com"],
    ["https://app.example.com:443", "https://app.example.com"],
    ["http://localhost:80", "http://localhost"],
    ["HTTPS://App.Example.com", "https://app.example.com"],
    [" https://app.example.com", "https://app.example.com"],
    ["https://münchen.example", "https://xn--mnchen-3ya.example"],
    ["https://ada@app.example.com", "https://app.example.com"],
    ["http://127.1:3000", "http://127.0.0.1:3000"]
  ])("%s is refused, and told as %s", (text, origin) => {
    assert.include(mistakeOf(EmbedOrigin, text)?.[1], `must be written as browsers send it: ${origin}`)
  })

  it.each([
    ["", "a scheme, a host and a port"],
    ["app.example.com", "a scheme, a host and a port"],
    ["ftp://app.example.com", "a scheme, a host and a port"],
    ["javascript:alert(1)", "a scheme, a host and a port"],
    ["null", "sandboxed"],
    ["*", "without *"],
    ["https://*.example.com", "without *"],
    ["http://app.example.com", "write https"],
    ["http://127.0.0.1.example.com", "write https"],
    ["http://localhost.", "without the dot"],
    ["https://app.example.com.", "without the dot"],
    ["https://app..example.com", "letters, digits and hyphens"],
    // Each would end the directive of a content policy, or add a source to it.
    ["https://a;script-src", "letters, digits and hyphens"],
    ["https://a,b.example", "letters, digits and hyphens"],
    ["https://a'b.example", "letters, digits and hyphens"],
    [`https://${"a".repeat(300)}.example`, "at most"]
  ])("%s is refused with what to write instead", (text, words) => {
    assert.include(mistakeOf(EmbedOrigin, text)?.[1], words)
  })

  it("is named once, and there are twenty at most", () => {
    const origins = Array.from({ length: embedOrigins.most + 1 }, (_, at) => `https://a${at}.example`)
    assert.isUndefined(mistakeOf(EmbedOrigins, origins.slice(1)))
    assert.include(mistakeOf(EmbedOrigins, origins)?.[1], "at most 20")
    assert.include(mistakeOf(EmbedOrigins, ["https://a.example", "https://a.example"])?.[1], "once")
    assert.deepStrictEqual(mistakeOf(EmbedOrigins, ["https://a.example", "null"])?.[0], "[1]")
  })
})

describe("a theme", () => {
  it("knows the contrast of two colours, in either order", () => {
    assert.closeTo(contrastRatio("#000000", "#ffffff"), 21, 1e-9)
    assert.strictEqual(contrastRatio("#123456", "#123456"), 1)
    // The grey of WCAG that is just enough on white, and the next one.
    assert.isAtLeast(contrastRatio("#767676", "#FFFFFF"), 4.5)
    assert.isBelow(contrastRatio("#ffffff", "#777777"), 4.5)
  })

  it.each([
    ["text", { text: "#777777", background: "#ffffff" }, "4.47:1 with background"],
    ["accentText", { accentText: "#ffffff", accent: "#ffff00" }, "1.07:1 with accent"]
  ])("refuses %s that cannot be read, with the figure", (text, colors, words) => {
    const [path, message] = mistakeOf(WidgetTheme, { colors }) ?? ["", ""]
    assert.strictEqual(path, `colors.${text}`)
    assert.include(message, words)
  })

  it("compares only colours that are both given", () => {
    for (const theme of [{}, { colors: {} }, { colors: { text: "#ffffff" } }, { colors: { background: "#777777" } }])
      assert.isUndefined(mistakeOf(WidgetTheme, theme))
    assert.isUndefined(mistakeOf(WidgetTheme, { colors: { text: "#767676", background: "#FFFFFF" } }))
  })

  it.each([
    ["colors.text", { colors: { text: "red" } }],
    ["colors.text", { colors: { text: "#fff" } }],
    ["colors.link", { colors: { link: "#ffffff" } }],
    ["radius", { radius: 33 }],
    ["radius", { radius: -1 }],
    ["font", { font: "" }],
    ["font", { font: "a".repeat(201) }],
    ["font", { font: "Arial; color: red" }],
    ["font", { font: "Arial } a { color: red" }],
    ["font", { font: "<style>" }],
    ["font", { font: "url(https://a.example/font)" }],
    // An escape of CSS: url(.
    ["font", { font: "u\\72l(a)" }],
    ["font", { font: "Arial /* " }]
  ])("refuses %s of %o", (path, theme) => assert.strictEqual(mistakeOf(WidgetTheme, theme)?.[0], path))

  it.each(["Inter, 'Segoe UI', sans-serif", '"Noto Sans JP"', "M+ 1p", "ヒラギノ角ゴ Pro W3"])(
    "takes the fonts %s",
    (font) => assert.isUndefined(mistakeOf(WidgetTheme, { radius: 0, font }))
  )
})

describe("a form", () => {
  const path = "features.integrations[0].configSchema"
  const of = (properties: object, more: object = {}) =>
    formMistakes(path, JSON.parse(JSON.stringify({ type: "object", properties, ...more }))).map((one) => one.path)

  it("has texts, numbers, choices, and one level of groups of these", () => {
    const fields = {
      name: { type: "string", title: "Name", minLength: 1, pattern: "^a", format: "email", default: "a" },
      days: { type: "integer", minimum: 1, maximum: 30 },
      rate: { type: "number", exclusiveMinimum: 0, multipleOf: 0.5 },
      isOn: { type: "boolean", description: "Whether it is on" },
      way: { type: "string", enum: ["in", "out"] },
      other: { enum: ["a"] }
    }
    assert.deepStrictEqual(of(fields, { required: ["name"], additionalProperties: false }), [])
    assert.deepStrictEqual(of({ group: { type: "object", properties: fields, required: ["days"] } }), [])
    assert.deepStrictEqual(formMistakes(path, { type: "object" }), [])
  })

  it.each([
    ["a list", { x: { type: "array", items: {} } }, "properties.x"],
    ["any type", { x: {} }, "properties.x"],
    ["several types", { x: { type: ["string", "null"] } }, "properties.x"],
    ["null", { x: { type: "null" } }, "properties.x"],
    ["what is no schema", { x: true }, "properties.x"],
    ["a reference", { x: { $ref: "#" } }, "properties.x"],
    ["alternatives", { x: { type: "string", oneOf: [] } }, "properties.x.oneOf"],
    ["numbers to choose from", { x: { type: "number", enum: [1, 2] } }, "properties.x.enum"],
    ["mixed values to choose from", { x: { type: "string", enum: ["a", 1] } }, "properties.x.enum"],
    ["nothing to choose from", { x: { type: "string", enum: [] } }, "properties.x.enum"],
    ["a title that is no text", { x: { type: "string", title: {} } }, "properties.x.title"],
    ["a name that is too long", { ["x".repeat(201)]: { type: "string" } }, "properties"],
    [
      "a second level of objects",
      { x: { type: "object", properties: { y: { type: "object", properties: {} } } } },
      "properties.x.properties.y"
    ],
    ["a list in a group", { x: { type: "object", properties: { y: { type: "array" } } } }, "properties.x.properties.y"]
  ])("has no %s, and its place is told", (_, properties, place) =>
    assert.deepStrictEqual(of(properties), [`${path}.${place}`])
  )

  it.each([
    [{ properties: [] }, "properties"],
    [{ required: ["missing"] }, "required[0]"],
    [{ required: "name" }, "required"],
    [{ additionalProperties: { type: "string" } }, "additionalProperties"],
    [{ allOf: [] }, "allOf"],
    [{ $defs: {} }, "$defs"],
    [{ type: "string" }, "type"],
    [{ type: null }, "type"]
  ])("is an object with fixed properties: %o", (more, place) =>
    assert.deepStrictEqual(of({}, more), [`${path}.${place}`])
  )
})

describe("a widget", () => {
  const body = (features: object) => ({ name: "Settings", features })
  const integration = { slug: "contacts", title: "Contacts" }
  const action = { id: "sync", title: "Sync", workflowId: "wf_000000000000" }

  it("has what is left out of its features", () => {
    const decoded = Schema.decodeUnknownSync(Widget.Create)(body({ integrations: [integration], actions: [action] }))
    assert.deepStrictEqual(decoded.features, {
      integrations: [{ ...integration, description: "", connectors: [], workflowIds: [], configSchema: null }],
      actions: [{ ...action, inputSchema: null, confirm: null }],
      runs: false,
      disconnect: true
    })
  })

  it.each([
    ["features.integrations[1].slug", { integrations: [integration, integration] }],
    ["features.actions[2].id", { actions: [action, { ...action, id: "other" }, action] }],
    [
      "features.integrations",
      { integrations: Array.from({ length: 51 }, (_, at) => ({ slug: `s${at}`, title: "S" })) }
    ],
    ["features.actions", { actions: Array.from({ length: 51 }, (_, at) => ({ ...action, id: `a${at}` })) }],
    ["features.integrations[0].title", { integrations: [{ ...integration, title: "" }] }],
    ["features.integrations[0].description", { integrations: [{ ...integration, description: "a".repeat(2_001) }] }],
    ["features.integrations[0].connectors", { integrations: [{ ...integration, connectors: ["a", "a"] }] }],
    ["features.actions[0].confirm", { actions: [{ ...action, confirm: "a".repeat(501) }] }],
    ["features.integrations[0].icon", { integrations: [{ ...integration, icon: "a.png" }] }],
    // 40,000 characters of two bytes.
    ["features", { integrations: [{ ...integration, configSchema: { $comment: "é".repeat(40_000) } }] }]
  ])("is refused at %s", (path, features) => assert.strictEqual(mistakeOf(Widget.Create, body(features))?.[0], path))

  it("names connectors and workflows at places that are known", () => {
    const features = {
      integrations: [{ ...integration, connectors: ["b"], workflowIds: ["wf_1"] }],
      actions: [{ ...action, workflowId: "wf_2" }]
    }
    const decoded = Schema.decodeUnknownSync(Widget.Create)({ ...body(features), connectors: ["a"] })
    const { connectors = [], features: all } = decoded
    assert.isDefined(all)
    if (all === undefined) return
    assert.deepStrictEqual(
      widgetParts({ connectors, features: all }).map(({ id, path, type }) => [type, id, path]),
      [
        ["connector", "a", "connectors[0]"],
        ["connector", "b", "features.integrations[0].connectors[0]"],
        ["workflow", "wf_1", "features.integrations[0].workflowIds[0]"],
        ["workflow", "wf_2", "features.actions[0].workflowId"]
      ]
    )
  })

  it("has the same content however its members are ordered, and another one with any change", () => {
    const content = contentOf({
      name: "Settings",
      connectors: ["a"],
      theme: { colors: { text: "#000000", accent: "#ffffff" }, radius: 1 },
      locale: "en",
      allowedOrigins: [],
      features: { integrations: [], actions: [], runs: false, disconnect: true }
    })
    const reordered = { ...content, theme: { radius: 1, colors: { accent: "#ffffff", text: "#000000" } } }
    assert.isTrue(isSameContent(content, reordered))
    for (const change of [{ name: "S" }, { connectors: [] }, { locale: "de" as const }, { theme: {} }])
      assert.isFalse(isSameContent(content, { ...content, ...change }))
    assert.strictEqual(widgetLimits.widgets, 100)
  })
})

describe("what a person may send for a form", () => {
  const range = { type: "object", properties: { from: { type: "string" } } }
  const form = { type: "object", properties: { days: { type: "integer" }, range }, required: ["days"] }

  it("has no more members than the form, also in its groups, unless it says that there may be others", () => {
    assert.deepStrictEqual(closedForm(form), {
      ...form,
      additionalProperties: false,
      properties: { days: { type: "integer" }, range: { ...range, additionalProperties: false } }
    })
    assert.strictEqual(closedForm({ ...form, additionalProperties: true })["additionalProperties"], true)
    assert.deepStrictEqual(closedForm(null), { additionalProperties: false, type: "object", properties: {} })
  })

  const stored = { days: 1, range: { from: "a", inner: 1 }, inner: { secret: 1 }, constructor: 1 }

  it("is shown without what else is stored", () => {
    assert.deepStrictEqual(formValues(form, stored), { days: 1, range: { from: "a" } })
    assert.deepStrictEqual(formValues(null, stored), {})
    const odd = { type: "object", properties: JSON.parse(`{"__proto__": {"type": "string"}}`) }
    const values = JSON.parse(`{"__proto__": "a", "b": 1}`)
    assert.deepStrictEqual(JSON.stringify(formValues(odd, values)), `{"__proto__":"a"}`)
  })

  it("replaces what the form has fields for, and nothing else", () => {
    assert.deepStrictEqual(withFormValues(form, stored, { days: 2, range: {} }), {
      days: 2,
      range: { inner: 1 },
      inner: { secret: 1 },
      constructor: 1
    } as object)
    assert.deepStrictEqual(withFormValues({ ...form, additionalProperties: false }, stored, { days: 2 }), { days: 2 })
    assert.deepStrictEqual(withFormValues(form, {}, { range: { from: "b" } }), { range: { from: "b" } })
  })
})
