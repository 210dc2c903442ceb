/** Texts of documents that people write, as JSON: whether they wrote JSON or YAML. */
import type { Effect } from "effect"
import { Context } from "effect"
import type { Json } from "../../domain/Json.js"

export class Documents extends Context.Tag("svc/Documents")<
  Documents,
  {
    /** Fails with what is wrong and where, as the end of a sentence about the text. */
    readonly parse: (text: string) => Effect.Effect<Json, string>
  }
>() {}
