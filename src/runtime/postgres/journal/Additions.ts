/** What a flush adds rows to, and how. */

export type Columns = { readonly [column: string]: string }

const runs = {
  id: "text",
  org: "text",
  space: "text",
  shard: "int",
  epoch: "int",
  engine: "text",
  class: "smallint",
  status: "text",
  tier: "text",
  priority: "smallint",
  workflow_id: "text",
  customer_id: "text",
  trigger_type: "text",
  attempt: "int",
  wake_at: "timestamptz",
  deadline_at: "timestamptz",
  waiting: "json",
  created_at: "timestamptz",
  started_at: "timestamptz",
  record: "json",
  input: "json"
}

const executions = {
  id: "text",
  class: "smallint",
  org: "text",
  space: "text",
  status: "text",
  workflow_id: "text",
  customer_id: "text",
  trigger_type: "text",
  finished_at: "timestamptz",
  record: "json",
  input: "json",
  output: "json"
}

/** Tables that a change only adds rows to: their columns, and what happens to a row that is there already. */
export const additions = {
  runs: { columns: runs, conflict: "ON CONFLICT (id) DO NOTHING" },
  executions: { columns: executions, conflict: "ON CONFLICT (id, class) DO NOTHING" },
  journal: {
    columns: { id: "text", seq: "int", epoch: "int", kind: "smallint", call: "int", hash: "text", body: "text" },
    select: "id, seq, epoch, kind, call, hash, decode(body, 'base64')",
    conflict: "ON CONFLICT (id, seq) DO NOTHING"
  },
  steps: {
    columns: { id: "text", class: "smallint", org: "text", index: "int", status: "text", record: "json" },
    conflict: "ON CONFLICT (id, class, index) DO UPDATE SET status = excluded.status, record = excluded.record"
  },
  logs: {
    columns: { id: "text", class: "smallint", org: "text", seq: "int", lines: "json" },
    conflict: "ON CONFLICT (id, class, seq) DO NOTHING"
  },
  blobs: {
    columns: { id: "text", class: "smallint", org: "text", blob_id: "text", content: "json" },
    conflict: "ON CONFLICT (id, class, blob_id) DO NOTHING"
  },
  outbox: {
    columns: { id: "text", org: "text", shard: "int", priority: "smallint", vtag: "bigint", not_before: "timestamptz" },
    conflict: "ON CONFLICT (id) DO NOTHING"
  },
  audit_entries: {
    columns: {
      run: "text",
      id: "text",
      org: "text",
      at: "timestamptz",
      actor_type: "text",
      actor_id: "text",
      action: "text",
      resource_type: "text",
      resource_id: "text",
      customer_id: "text",
      outcome: "text",
      entry: "json"
    },
    conflict: "ON CONFLICT (id) DO NOTHING"
  },
  deliveries: {
    columns: {
      run: "text",
      id: "text",
      org: "text",
      space: "text",
      kind: "text",
      url: "text",
      execution_id: "text",
      payload: "text"
    },
    conflict: "ON CONFLICT (id) DO NOTHING"
  }
} as const

export type Table = keyof typeof additions

// The keys of the object above.
export const tables = Object.keys(additions) as ReadonlyArray<Table>
