/** Parses paths and templates where they are written or checked. Guests run `Path.ts` and `Template.ts` without libraries. */
import { Either } from "effect"
import { type Parsed, type Path, scanPath } from "./Path.js"
import { scanTemplate, type Template } from "./Template.js"

/** Parses a path. A leading `$` or `$.` is optional; other names are quoted in `["…"]`. Left: what is wrong. */
export const parsePath = (text: string): Either.Either<Path, string> => eitherOf(scanPath(text))

/** Parses a template. Left: what is wrong with it. */
export const parseTemplate = (text: string): Either.Either<Template, string> => eitherOf(scanTemplate(text))

const eitherOf = <A>(parsed: Parsed<A>): Either.Either<A, string> =>
  "mistake" in parsed ? Either.left(parsed.mistake) : Either.right(parsed.value)
