/** Everything that was received: where it came from, what became of it, and the equation that shows that nothing is lost. */
import { useState } from "react"
import { Link } from "wouter"
import type { ListRow } from "../../api/Reads.js"
import { useStableList } from "../../api/StableList.js"
import { usePolls } from "../../live/Live.js"
import { Badge } from "../../ui/Badge.js"
import { Button } from "../../ui/Button.js"
import { ChoiceFilter, DateFilter, FilterBar, TextFilter, useFilters } from "../../ui/Filters.js"
import { Page } from "../../ui/Page.js"
import { Empty } from "../../ui/States.js"
import { type Column, ListTable } from "../../ui/Table.js"
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

export const Events = () => {
  const { clear, isSet, set, values } = useFilters([
    "status",
    "source",
    "type",
    "trigger_id",
    "connector",
    "customer_id",
    "created_after",
    "created_before"
  ])
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
      <FilterBar isSet={isSet} clear={clear}>
        <ChoiceFilter
          label="Status"
          value={values.status}
          onChange={(value) => set("status", value)}
          options={statuses}
        />
        <ChoiceFilter
          label="Source"
          value={values.source}
          onChange={(value) => set("source", value)}
          options={sources}
        />
        <TextFilter label="Type" value={values.type} onChange={(value) => set("type", value)} />
        <TextFilter
          label="Trigger's id"
          value={values.trigger_id}
          onChange={(value) => set("trigger_id", value)}
          placeholder="trg_…"
        />
        <TextFilter label="Connector" value={values.connector} onChange={(value) => set("connector", value)} />
        <TextFilter
          label="Customer's id"
          value={values.customer_id}
          onChange={(value) => set("customer_id", value)}
          placeholder="cus_…"
        />
        <DateFilter label="From" value={values.created_after} onChange={(value) => set("created_after", value)} />
        <DateFilter label="To" value={values.created_before} onChange={(value) => set("created_before", value)} />
      </FilterBar>
      <div aria-live="polite">
        {list.newer !== undefined && (
          <p className="row newer">
            <Button onClick={list.showNewer}>Show {list.newer} newer</Button>
          </p>
        )}
      </div>
      <ListTable
        label="events"
        columns={columns}
        keyOf={({ id }) => id}
        list={list}
        empty={
          isSet ? (
            <Empty title="No event matches" action={<Button onClick={clear}>Clear the filters</Button>} />
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
