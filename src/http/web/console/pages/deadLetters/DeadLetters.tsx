/** What was given up after its tries: each can be replayed or discarded, or all that match be replayed at a rate. */
import { useState } from "react"
import { Link } from "wouter"
import { type ListRow, useList } from "../../api/Reads.js"
import { Badge } from "../../ui/Badge.js"
import { Button } from "../../ui/Button.js"
import { FilterFields, NoMatch, useFieldFilters } from "../../ui/Filters.js"
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

const fields = [
  { name: "status", label: "Status", options: statuses },
  { name: "type", label: "Type" },
  { name: "code", label: "Error's code" },
  { name: "trigger_id", label: "Trigger's id", placeholder: "trg_…" },
  { name: "connector", label: "Connector" },
  { name: "customer_id", label: "Customer's id", placeholder: "cus_…" },
  { name: "created_after", label: "From", isTime: true },
  { name: "created_before", label: "To", isTime: true }
] as const

export const DeadLetters = () => {
  const filters = useFieldFilters(fields)
  const { clear, isSet, values } = filters
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
      <FilterFields {...filters} />
      <ListTable
        label="dead letters"
        columns={columns}
        keyOf={({ id }) => id}
        list={list}
        empty={
          isSet ? (
            <NoMatch title="No dead letter matches" clear={clear} />
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
