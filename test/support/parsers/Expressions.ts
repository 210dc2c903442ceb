/** Parsers of expressions and mappings: paths, templates, transforms, and what they refer to. */
import { findJsonMistake } from "../../../src/runtime/computing/worker/JsonMistake.js"
import { compileFlowFile, placeOf } from "../../../src/runtime/computing/workflow/FlowFileSource.js"
import { checkFlow } from "../../../src/domain/flow/Checks.js"
import { parseTemplate } from "../../../src/domain/expression/Parsing.js"
import { pathReference, templateReferences } from "../../../src/domain/expression/References.js"
import { templateLength } from "../../../src/domain/expression/Template.js"
import type { Json, JsonObject } from "../../../src/domain/Json.js"
import { bodyBytes, guest } from "../../../src/domain/Limits.js"
import { mappingReferences } from "../../../src/domain/mapping/MappingChecks.js"
import { evaluateMapping } from "../../../src/domain/mapping/MappingEvaluation.js"
import { applyTransforms } from "../../../src/domain/mapping/TransformEvaluation.js"
import { type Parser, parser, repeated } from "./Parser.js"

const mappingOf = (length: number, entry: (at: number) => readonly [string, Json]): JsonObject =>
  Object.fromEntries(Array.from({ length }, (_, at) => entry(at)))

const flowOf = (steps: ReadonlyArray<Json>): Json => ({ steps })
const steps = (count: number, step: (at: number) => JsonObject): Json =>
  flowOf(Array.from({ length: count }, (_, at) => ({ name: `s${at}`, type: "action", ...step(at) })))

/** A part of the size that a worker reads: it holds no loop of others, but its cost must grow by the size as well. */
const inWorker = (size: number) => size / 8

export const expressionParsers: ReadonlyArray<Parser> = [
  parser(
    "src/runtime/computing/worker/JsonMistake.ts#findJsonMistake",
    inWorker(bodyBytes.management),
    findJsonMistake,
    {
      brackets: repeated("["),
      "an open text": (size) => `"${"a".repeat(size)}`,
      escapes: (size) => `"${"\\n".repeat(size / 2)}`,
      "one number": repeated("1"),
      numbers: (size) => `[${"1,".repeat(size / 2)}`,
      spaces: repeated(" "),
      lines: repeated("\n")
    }
  ),
  parser(
    ["src/runtime/computing/workflow/FlowFileSource.ts#compileFlowFile"],
    inWorker(guest.sourceBytes),
    compileFlowFile,
    {
      data: (size) => `export default { steps: [${"{ a: 'b' },".repeat(size / 12)}] }`,
      "one text": (size) => `export default \`${"a\n".repeat(size / 2)}\``,
      brackets: (size) => `export default ${"[".repeat(size)}`,
      imports: repeated("import 'a'\n"),
      exports: repeated("export default 1\n"),
      comments: repeated("/**/")
    }
  ),
  parser(
    "src/runtime/computing/workflow/FlowFileSource.ts#placeOf",
    guest.sourceBytes,
    (source: string) => placeOf("at (workflow.js:9999999:1)\n".repeat(300), source),
    { lines: repeated("\n"), "one line": repeated("a") }
  ),
  parser(
    ["src/domain/flow/Checks.ts#decode", "src/domain/flow/DefineStep.ts#defineStep"],
    guest.sourceBytes,
    (document: Json) => checkFlow(document, {}),
    {
      "steps beyond the most": (size) => steps(size / 32, () => ({})),
      "steps that all read each other": (size) =>
        steps(200, () => ({
          input: { all: Array.from({ length: size / 8_000 }, (_, at) => `{{steps.s${at % 200}.output}}`) }
        })),
      "members that do not exist": (size) => steps(1, () => mappingOf(size / 16, (at) => [`m${at}`, at])),
      "names of steps": (size) =>
        steps(1, () => ({ dependsOn: Array.from({ length: size / 8 }, (_, at) => `s${at}`) })),
      "branches in branches": (size) =>
        flowOf([
          Array.from({ length: Math.min(size / 100, 60) }).reduce<JsonObject>(
            (inner, _, at) => ({ name: `g${at}`, type: "gate", config: { branches: [], else: { steps: [inner] } } }),
            { name: "end", type: "action" }
          )
        ])
    }
  ),
  parser(
    ["src/domain/expression/Parsing.ts#parsePath", "src/domain/expression/References.ts#pathReference"],
    bodyBytes.management,
    (path: string) => pathReference(path, "path"),
    {
      names: repeated("a."),
      indices: repeated("[0]"),
      "one long name": repeated("a"),
      "an open quote": (size) => `["${"a".repeat(size)}`,
      "escaped quotes": (size) => `["${'\\"'.repeat(size / 2)}`,
      spaces: repeated(" ")
    }
  ),
  parser(
    ["src/domain/expression/Parsing.ts#parseTemplate", "src/domain/expression/Template.ts#parseOperand"],
    templateLength,
    parseTemplate,
    {
      "open braces": repeated("{"),
      expressions: repeated("{{a}}"),
      "an expression without an end": (size) => `{{${"a".repeat(size)}`,
      "many without an end": repeated("{{a "),
      alternatives: (size) => `{{${"a ?? ".repeat(size / 5)}a}}`,
      quotes: (size) => `{{${'"'.repeat(size)}}}`
    }
  ),
  parser(
    "src/domain/expression/References.ts#templateReferences",
    templateLength,
    (value: Json) => templateReferences(value, "input"),
    {
      "one string of expressions": repeated("{{a}}"),
      "many strings": (size) => Array.from({ length: size / 8 }, () => "{{a.b}}"),
      "objects in objects, with long names": (size) =>
        Array.from({ length: size / 640 }).reduce<Json>(
          (inner) => ({ [`{{${"a".repeat(600)}}}`]: inner, b: "{{a}}" }),
          null
        ),
      mistakes: (size) => Array.from({ length: size / 4 }, () => "{{a")
    }
  ),
  parser(
    [
      "src/domain/expression/Template.ts#scanSource",
      "src/domain/mapping/TransformScan.ts#scanSources",
      "src/domain/mapping/TransformEvaluation.ts#applyTransforms"
    ],
    templateLength,
    (transform: string) => applyTransforms("1", [transform], {}),
    {
      names: repeated("A"),
      parentheses: repeated("A("),
      "spaces in an argument": (size) => `CONCAT(a${" ".repeat(size)}"`,
      "spaces before an argument": (size) => `CONCAT(${" ".repeat(size)}`,
      commas: (size) => `CONCAT(${"a,".repeat(size / 2)}a)`,
      "quotes and escapes": (size) => `CONCAT("${'\\"'.repeat(size / 2)})`,
      "an open quote": (size) => `CONCAT('${"a".repeat(size)})`,
      "a long path": (size) => `COALESCE(${"a.".repeat(size / 2)}a)`,
      digits: (size) => `MULTIPLY(${"9".repeat(size)})`
    }
  ),
  parser(
    ["src/domain/mapping/MappingChecks.ts#sourceReferences", "src/domain/mapping/MappingChecks.ts#transformReferences"],
    templateLength,
    (mapping: JsonObject) => [mappingReferences(mapping, "mapping"), evaluateMapping(mapping, {}, {})],
    {
      "many targets": (size) => mappingOf(size / 12, (at) => [`a.b${at}`, "{{b}}"]),
      "many targets in a list": (size) => mappingOf(size / 12, (at) => [`a[${at}]`, 1]),
      "deep targets": (size) => mappingOf(size / 150, (at) => [`${"a.".repeat(60)}a${at}`, 1]),
      "deep lists": (size) => mappingOf(size / 400, (at) => [`${"[9999]".repeat(60)}.a${at}`, null]),
      transforms: (size) => ({ a: { from: "b", transforms: Array.from({ length: size / 8 }, () => "TRIM") } }),
      paths: (size) => ({ a: { from: "b.".repeat(size / 4), default: "{{a}}".repeat(size / 10) } })
    }
  )
]
