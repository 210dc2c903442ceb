/** What an editor knows beyond the language, to complete what is typed. */

/** A JSON schema, as far as completions read it. */
export interface JsonSchema {
  readonly $ref?: string
  readonly $defs?: Readonly<Record<string, JsonSchema>>
  readonly type?: string | ReadonlyArray<string>
  readonly description?: string
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: ReadonlyArray<string>
  readonly additionalProperties?: boolean | JsonSchema
  readonly items?: JsonSchema
  readonly enum?: ReadonlyArray<unknown>
  readonly const?: unknown
  readonly anyOf?: ReadonlyArray<JsonSchema>
  readonly oneOf?: ReadonlyArray<JsonSchema>
  readonly allOf?: ReadonlyArray<JsonSchema>
  readonly if?: JsonSchema
  readonly then?: JsonSchema
}

/** An action of a connector. */
export interface KnownAction {
  readonly name: string
  readonly title?: string
  readonly inputSchema?: JsonSchema
}

/** A connector with what code and steps may call of it. */
export interface CompletedConnector {
  readonly slug: string
  readonly name: string
  readonly actions: ReadonlyArray<KnownAction>
}

/** For JSON the schema of the text; for code what the guest's API leads to. */
export interface EditorKnowledge {
  readonly schema?: JsonSchema | undefined
  readonly connectors?: ReadonlyArray<CompletedConnector> | undefined
  /** The schema of `ctx.input`. */
  readonly input?: JsonSchema | undefined
}

/** A mistake in the text: at a line and column, or at the value of a path such as `steps[2].config`. */
export interface TextProblem {
  readonly message: string
  readonly path?: string | undefined
  readonly line?: number | undefined
  readonly column?: number | undefined
  readonly severity?: "error" | "warning" | undefined
}
