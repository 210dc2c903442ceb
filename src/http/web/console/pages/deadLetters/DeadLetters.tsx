/** What was given up after its tries: each can be replayed or discarded, or all that match be replayed at a rate. */
import { useState } from "react"
import { Link } from "wouter"
import { type ListRow, useList } from "../../api/Reads.js"
import { Badge } from "../../ui/Badge.js"
import { Button } from "../../ui/Button.js"
import { ChoiceFilter, DateFilter, FilterBar, TextFilter, useFilters } from "../../ui/Filters.js"
import { Page } from "../../ui/Page.js"
import { Empty } from "../../ui/States.js"
import { type Column, ListTable } from "../../ui/Table.js"
import { Time } from "../../ui/Time.js"
import { ReplayMany } from "./ReplayMany.js"

const statuses = ["pending", "replaying", "replayed", "expired", "discarded"]

const columns: ReadonlyArray<Column<ListRow<"/api/v1/dlq">>> = [
  {
    name: "Dead letter",
    of: ({ id }) => (
      <Link href={`/dead-letters/${id}`} className="mono">
        {id}
      </Link>
    )
  },
  { name: "Status", of: ({ status }) => <Badge word={status} /> },
  { name: "Type", of: ({ type }) => type },
  { name: "Error", of: ({ error }) => errorOf(error) },
  { name: "Tries", isNumber: true, of: ({ retryCount }) => retryCount },
  { name: "Created", of: ({ createdAt }) => <Time at={createdAt} /> },
  { name: "Kept until", of: ({ expiresAt }) => <Time at={expiresAt} /> }
]

const errorOf = (error: unknown): string => {
  const { code, message } = (error ?? {}) as { readonly code?: string; readonly message?: string }
  return [code, message].filter(Boolean).join(": ")
}

export const DeadLetters = () => {
  const { clear, isSet, set, values } = useFilters([
    "status",
    "type",
    "code",
    "trigger_id",
    "connector",
    "customer_id",
    "created_after",
    "created_before"
  ])
  const list = useList("/api/v1/dlq", values)
  const [isOpen, setOpen] = useState(false)
  return (
    <Page
      title="Dead letters"

      actions={
        <Button kind="main" needs="events:replay" onClick={() => setOpen(true)}>
          Replay all that match
        </Button>
      }
    >
      <FilterBar isSet={isSet} clear={clear}>
        <ChoiceFilter
          label="Status"
          value={values.status}
          onChange={(value) => set("status", value)}
          options={statuses}
        />
        <TextFilter label="Type" value={values.type} onChange={(value) => set("type", value)} />
        <TextFilter label="Error's code" value={values.code} onChange={(value) => set("code", value)} />
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
      <ListTable
        label="dead letters"
        columns={columns}
        keyOf={({ id }) => id}
        list={list}
        empty={
          isSet ? (
            <Empty title="No dead letter matches" action={<Button onClick={clear}>Clear the filters</Button>} />
          ) : (
            <Empty title="Nothing was given up">
              Events and deliveries whose tries are used up are kept here for thirty days.
            </Empty>
          )
        }
      />
      {isOpen && <ReplayMany filters={values} close={() => setOpen(false)} />}
    </Page>
  )
}
