/** Who did what: every filter, an export as JSON lines, and the verification of the chain. */
import { useState } from "react"
import { type ApiSchemas, read } from "../../api/Client.js"
import { type ListRow, useChange, useList } from "../../api/Reads.js"
import { Badge } from "../../ui/Badge.js"
import { Button } from "../../ui/Button.js"
import { CopyText } from "../../ui/CopyText.js"
import { Dialog } from "../../ui/Dialog.js"
import { FilterFields, NoMatch, useFieldFilters } from "../../ui/Filters.js"
import { download, JsonValue } from "../../ui/JsonValue.js"
import { Facts, Page } from "../../ui/Page.js"
import { Problem } from "../../ui/States.js"
import { type Column, ListTable } from "../../ui/Table.js"
import { Time } from "../../ui/Time.js"
import { useToast } from "../../ui/Toasts.js"

type Entry = ListRow<"/api/v1/audit">
/** Entries that one export has at most. */
const mostExported = 10_000

const fields = [
  { name: "actor_type", label: "Kind of actor", options: ["user", "service_account", "agent", "system"] },
  { name: "actor_id", label: "Actor's id", placeholder: "usr_… or key_…" },
  { name: "action", label: "Action", placeholder: "workflow.publish" },
  { name: "resource_type", label: "Kind of record" },
  { name: "resource_id", label: "Record's id" },
  { name: "customer_id", label: "Customer's id" },
  { name: "from", label: "From", isTime: true },
  { name: "to", label: "To", isTime: true }
] as const

export const Audit = () => {
  const filters = useFieldFilters(fields)
  const { clear, values } = filters
  const list = useList("/api/v1/audit", values)
  const [entry, setEntry] = useState<Entry>()
  const columns: ReadonlyArray<Column<Entry>> = [
    { name: "When", of: ({ at }) => <Time at={at} /> },
    { name: "Who", of: ({ actor }) => `${actor.name} (${actor.type.replaceAll("_", " ")})` },
    { name: "Did", of: ({ action }) => <code>{action}</code> },
    { name: "To", of: ({ resource }) => [resource.type, resource.name ?? resource.id].filter(Boolean).join(" ") },
    { name: "Outcome", of: ({ outcome }) => <Badge word={outcome} tone={outcome === "success" ? "good" : "bad"} /> },
    { name: "Number", isNumber: true, of: ({ seq }) => seq ?? "being sealed" },
    {
      name: "Show",
      isUnnamed: true,
      of: (row) => (
        <Button size="small" object={`${row.action} ${row.id}`} onClick={() => setEntry(row)}>
          Show
        </Button>
      )
    }
  ]
  return (
    <Page
      title="Audit"

      actions={
        <>
          <Export values={values} />
          <Verify />
        </>
      }
    >
      <FilterFields {...filters} />
      <ListTable
        label="audit entries"
        columns={columns}
        keyOf={({ id }) => id}
        list={list}
        empty={<NoMatch title="No entry matches" clear={clear} />}
      />
      {entry !== undefined && <EntryDialog entry={entry} close={() => setEntry(undefined)} />}
    </Page>
  )
}

const EntryDialog = ({ close, entry }: { readonly entry: Entry; readonly close: () => void }) => (
  <Dialog title={entry.action} isOpen isWide close={close}>
    <Facts
      facts={[
        ["When", <Time key="at" at={entry.at} isExact />],
        ["Who", `${entry.actor.name}, ${entry.actor.id}`],
        ["From", [entry.actor.ip, entry.actor.userAgent].filter(Boolean).join(", ") || "–"],
        ["On behalf of", entry.actor.onBehalfOf ?? "–"],
        ["Record", [entry.resource.type, entry.resource.id, entry.resource.name].filter(Boolean).join(" ")],
        ["Customer", entry.customerId ?? "–"],
        ["Request", entry.requestId === null ? "–" : <CopyText key="request" text={entry.requestId} />],
        ["Times", entry.count],
        [
          "Hash",
          entry.hash === null ? (
            "being sealed"
          ) : (
            <CopyText key="hash" text={entry.hash} shown={`${entry.hash.slice(0, 16)}…`} />
          )
        ]
      ]}
    />
    <h3>Changes</h3>
    <JsonValue name={`${entry.id}-changes`} value={entry.changes} />
  </Dialog>
)

const Export = ({ values }: { readonly values: Readonly<Record<string, string | undefined>> }) => {
  const tell = useToast()
  const run = useChange(
    async () => {
      const lines: Array<string> = []
      for (let cursor = ""; lines.length < mostExported;) {
        const query = { ...values, page_size: 200, ...(cursor === "" ? {} : { cursor }) }
        const { data, page } = await read("/api/v1/audit", { params: { query } })
        lines.push(...data.map((entry) => JSON.stringify(entry)))
        if (page.nextCursor === null) break
        cursor = page.nextCursor
      }
      return lines
    },
    {
      done: (lines) => {
        download("audit.jsonl", `${lines.join("\n")}\n`, "application/jsonl")
        tell(
          `${lines.length.toLocaleString()} entries were exported${lines.length < mostExported ? "." : ": narrow the filters for the rest."}`
        )
      }
    }
  )
  return (
    <>
      <Problem error={run.error} />
      <Button needs="settings:manage" isRunning={run.isRunning} onClick={() => run.run()}>
        Export what matches
      </Button>
    </>
  )
}

const Verify = () => {
  const [result, setResult] = useState<ApiSchemas["AuditVerification"]>()
  const verify = useChange(() => read("/api/v1/audit/verify", {}), { done: ({ data }) => setResult(data) })
  return (
    <>
      <Problem error={verify.error} />
      <Button kind="main" needs="settings:manage" isRunning={verify.isRunning} onClick={() => verify.run()}>
        Verify
      </Button>
      {result !== undefined && (
        <Dialog
          title={result.ok ? "The trail is whole" : "The trail is damaged"}
          isOpen
          close={() => setResult(undefined)}
        >
          <p>
            Each entry has the hash of the one before it, so that none can be changed, added or removed unseen.{" "}
            {result.checked.toLocaleString()} entries were computed again
            {result.ok
              ? ", and all agree."
              : `: the first that does not agree has the number ${result.firstBadSeq ?? "?"}.`}
          </p>
          <Facts
            facts={[
              ["Not sealed yet", result.unsealed],
              ["Signed up to", result.checkpoint === null ? "–" : `number ${result.checkpoint.seq}`],
              [
                "Closed branches",
                result.closedBranches.length === 0
                  ? "none"
                  : `${result.closedBranches.length}: older data was put in place of newer`
              ]
            ]}
          />
          {result.checkpoint !== null && <JsonValue name="audit-checkpoint" value={result.checkpoint} />}
        </Dialog>
      )}
    </>
  )
}
