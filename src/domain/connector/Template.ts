/**
 * `{{path ?? path ?? "default"}}` in a definition: how it reads. A path names plain data; nothing is ever evaluated.
 * Contract: connector definition, template language.
 */

/** A member's name, or a place in a list; a negative one counts from the end. */
export type Segment = string | number
/** `args.items[0].name` as its parts. */
export type Path = ReadonlyArray<Segment>

/** One alternative of an expression: a path, or a value that stands in the text itself. */
export type Operand =
  | { readonly _tag: "Path"; readonly path: Path }
  | { readonly _tag: "Literal"; readonly value: string | number | boolean | null }

/** The first operand that is there and not null. */
export type Expression = ReadonlyArray<Operand>

export type TemplatePart =
  | { readonly _tag: "Text"; readonly text: string }
  | { readonly _tag: "Expression"; readonly operands: Expression }
