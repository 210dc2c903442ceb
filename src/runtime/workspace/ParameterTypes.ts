/** Asks Postgres for the types of a statement's parameters, without running it. */
import type { Client, Connection, Submittable } from "pg"

/**
 * The OIDs of the types, in the order of `$1`, `$2` and so on. Rejects with the error of the statement, as running it would.
 * The session must be idle.
 */
export const parameterTypesOf = (client: Client, sql: string): Promise<ReadonlyArray<number>> =>
  new Promise((resolve, reject) => {
    client.query(new Description(sql, resolve, reject))
  })

// --- Private ---

/** What pg calls while the answer arrives, instead of a query of its own. The listeners only settle the promise: none throws. */
class Description implements Submittable {
  private types: ReadonlyArray<number> = []

  constructor(
    private readonly sql: string,
    private readonly resolve: (types: ReadonlyArray<number>) => void,
    private readonly reject: (cause: unknown) => void
  ) {}

  submit(connection: Connection): void {
    connection.on("parameterDescription", this.keepTypes)
    connection.stream.cork()
    try {
      connection.parse({ name: "", text: this.sql, types: [] }, true)
      connection.describe({ type: "S", name: "" }, true)
      connection.sync()
    } finally {
      connection.stream.uncork()
    }
  }

  /** pg names the columns to the query that it waits for; the answer of the statement itself names them again. */
  handleRowDescription(): void {}

  handleError(cause: unknown, connection: Connection): void {
    connection.off("parameterDescription", this.keepTypes)
    this.reject(cause)
  }

  handleReadyForQuery(connection: Connection): void {
    connection.off("parameterDescription", this.keepTypes)
    this.resolve(this.types)
  }

  private readonly keepTypes = ({ dataTypeIDs }: { readonly dataTypeIDs: ReadonlyArray<number> }): void => {
    this.types = dataTypeIDs
  }
}
