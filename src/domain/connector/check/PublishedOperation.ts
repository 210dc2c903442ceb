/** A provider's own description of its API, in whichever form it was written. Definitions are compared with it. */
import type { Json, JsonObject } from "../../Json.js"

/** A parameter of an operation. `in`: `path`, `query`, `header` or `cookie`. */
export interface DocumentedParameter {
  readonly name: string
  readonly in: string
  readonly isRequired: boolean
  readonly schema: Json | undefined
}

/** A content that the operation takes. `type`: the media type. */
export interface DocumentedBody {
  readonly type: string
  readonly schema: Json | undefined
}

/** One operation. `path`: from the origin on, with `{name}` for values. */
export interface PublishedOperation {
  readonly method: string
  readonly path: string
  readonly parameters: ReadonlyArray<DocumentedParameter>
  readonly bodies: ReadonlyArray<DocumentedBody>
  readonly isBodyRequired: boolean
  readonly answer: Json | undefined
}

/** A document that was read. */
export interface ProviderDocument {
  readonly title: string
  readonly version: string
  readonly operations: ReadonlyArray<PublishedOperation>
  /** The schema at the end of a chain of references; empty if it is elsewhere, missing or a cycle. */
  readonly resolve: (schema: Json | undefined) => JsonObject
}
