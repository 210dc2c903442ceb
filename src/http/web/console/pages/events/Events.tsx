/** Everything that was received: where it came from, what became of it, and the equation that shows that nothing is lost. */
import { useState } from "react"
import { Link } from "wouter"
import type { ListRow } from "../../api/Reads.js"
import { useStableList } from "../../api/StableList.js"
import { usePolls } from "../../live/Live.js"
import { Badge } from "../../ui/Badge.js"
import { Button } from "../../ui/Button.js"
import { FilterFields, NoMatch, useFieldFilters } from "../../ui/Filters.js"
import { Page } from "../../ui/Page.js"
import { Empty } from "../../ui/States.js"
import { type Column, ListTable, NewerRows } from "../../ui/Table.js"
import { Time } from "../../ui/Time.js"
import { Balance } from "./Balance.js"
import { SendEvent } from "./SendEvent.js"

const statuses = ["received", "held", "delivered", "ignored", "dead", "duplicate", "rejected"]
const sources = ["webhook", "poll", "schedule", "app_event", "manual", "system"]
/** Between two looks for newer ones, while changes are not told. */
const newerMillis = 10_000

const columns: ReadonlyArray<Column<ListRow<"/api/v1/events">>> = [
  {
    name: "Event",
    of: ({ id }) => (
      <Link href={`/events/${id}`} className="mono">
        {id}
      </Link>
    )
  },
  { name: "Status", of: ({ status }) => <Badge word={status} /> },
  { name: "Type", of: ({ type }) => type },
  { name: "Source", of: ({ source }) => source.replaceAll("_", " ") },
  { name: "Priority", of: ({ priority }) => `P${priority}` },
  { name: "Why", of: ({ reason }) => reason?.replaceAll("_", " ") ?? "–" },
  { name: "Runs", isNumber: true, of: ({ deliveries }) => deliveries.length },
  { name: "Received", of: ({ receivedAt }) => <Time at={receivedAt} /> }
]

const fields = [
  { name: "status", label: "Status", options: statuses },
  { name: "source", label: "Source", options: sources },
  { name: "type", label: "Type" },
  { name: "trigger_id", label: "Trigger's id", placeholder: "trg_…" },
  { name: "connector", label: "Connector" },
  { name: "customer_id", label: "Customer's id", placeholder: "cus_…" },
  { name: "created_after", label: "From", isTime: true },
  { name: "created_before", label: "To", isTime: true }
] as const

export const Events = () => {
  const filters = useFieldFilters(fields)
  const { clear, isSet, values } = filters
  const list = useStableList("/api/v1/events", values, usePolls(newerMillis))
  const [isOpen, setOpen] = useState(false)
  return (
    <Page
      title="Events"

      actions={
        <Button needs="events:create" onClick={() => setOpen(true)}>
          Send an event
        </Button>
      }
    >
      <Balance />
      <FilterFields {...filters} />
      <NewerRows list={list} />
      <ListTable
        label="events"
        columns={columns}
        keyOf={({ id }) => id}
        list={list}
        empty={
          isSet ? (
            <NoMatch title="No event matches" clear={clear} />
          ) : (
            <Empty title="No events yet" action={<Link href="/triggers">Triggers</Link>}>
              Create a trigger, and send to its address.
            </Empty>
          )
        }
      />
      {isOpen && <SendEvent close={() => setOpen(false)} />}
    </Page>
  )
}
