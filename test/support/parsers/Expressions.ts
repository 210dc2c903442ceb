/** Parsers of expressions: paths, templates and what they refer to. */
import { parseTemplate } from "../../../src/domain/expression/Parsing.js"
import { pathReference, templateReferences } from "../../../src/domain/expression/References.js"
import { templateLength } from "../../../src/domain/expression/Template.js"
import type { Json } from "../../../src/domain/Json.js"
import { bodyBytes } from "../../../src/domain/Limits.js"
import { type Parser, parser, repeated } from "./Parser.js"

export const expressionParsers: ReadonlyArray<Parser> = [
  parser(
    [
      "src/domain/expression/Path.ts#firstSegment",
      "src/domain/expression/Parsing.ts#parsePath",
      "src/domain/expression/References.ts#pathReference"
    ],
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
  )
]
