/** Replays all pending dead letters that match the page's filters: counted first, then at a rate, with its progress. */
import { useState } from "react"
import { bodyOf, client } from "../../api/Client.js"
import { useChange, useList, useRead } from "../../api/Reads.js"
import { Badge } from "../../ui/Badge.js"
import { Button } from "../../ui/Button.js"
import { Dialog, FormDialog } from "../../ui/Dialog.js"
import { TextField } from "../../ui/Field.js"
import { Loaded } from "../../ui/States.js"
import { useForm } from "../../ui/useForm.js"

interface LetterFilters {
  readonly type?: string
  readonly code?: string
  readonly trigger_id?: string
  readonly connector?: string
  readonly customer_id?: string
  readonly created_after?: string
  readonly created_before?: string
}

/** Letters that are counted before the replay, at most. */
const counted = 200

export const ReplayMany = ({ close, filters }: { readonly filters: LetterFilters; readonly close: () => void }) => {
  const [id, setId] = useState<string>()
  const { set, values } = useForm({ limit: "1000", rate: "10" })
  const pending = useList("/api/v1/dlq", { ...filters, status: "pending" }, { pageSize: counted })
  const start = useChange(
    () =>
      bodyOf(
        client.POST("/api/v1/dlq/replay", {
          body: {
            filter: {
              ...(filters.type === undefined ? {} : { type: filters.type }),
              ...(filters.code === undefined ? {} : { code: filters.code }),
              ...(filters.trigger_id === undefined ? {} : { triggerId: filters.trigger_id }),
              ...(filters.connector === undefined ? {} : { connector: filters.connector }),
              ...(filters.customer_id === undefined ? {} : { customerId: filters.customer_id }),
              ...(filters.created_after === undefined ? {} : { createdAfter: filters.created_after }),
              ...(filters.created_before === undefined ? {} : { createdBefore: filters.created_before })
            },
            limit: Number(values.limit),
            ratePerSecond: Number(values.rate)
          }
        })
      ),
    { changes: ["/api/v1/dlq"], done: ({ data }) => setId(data.id) }
  )
  if (id !== undefined) return <Progress id={id} close={close} />
  const count = pending.hasMore ? `${counted} or more` : String(pending.rows.length)
  return (
    <FormDialog
      title="Replay all that match"
      verb="Start"
      isOpen
      close={close}
      send={() => start.run()}
      isRunning={start.isRunning}
      isReady={!pending.isPending && pending.rows.length > 0}
      error={start.error ?? pending.error}
    >
      <p>
        {pending.isPending ? "Counting …" : `${count} pending dead letters match the filters of the page.`} They are
        replayed in the background, the oldest first, on the versions that are deployed now.
      </p>
      <TextField
        label="At most"
        type="number"
        value={values.limit}
        onChange={set("limit")}
        wrong={start.error?.detailOf("limit")}
      />
      <TextField
        label="How many a second"
        type="number"
        value={values.rate}
        onChange={set("rate")}
        wrong={start.error?.detailOf("ratePerSecond")}
      />
    </FormDialog>
  )
}

const Progress = ({ close, id }: { readonly id: string; readonly close: () => void }) => {
  const found = useRead("/api/v1/dlq-replays/{rpl}", { params: { path: { rpl: id } } }, { every: 1_000 })
  return (
    <Dialog title="Replay" isOpen close={close}>
      <Loaded of={found} what="its progress">
        {({ data }) => (
          <div className="stack tight">
            <p>
              <Badge word={data.status} tone={data.status === "finished" ? "good" : "busy"} />{" "}
              {data.replayed.toLocaleString()} replayed, {data.failed.toLocaleString()} not.
            </p>
            <progress
              max={data.limit}
              value={data.status === "finished" ? data.limit : data.replayed}
              aria-label="Progress"
            />
            <p className="soft">It goes on when this is closed.</p>
          </div>
        )}
      </Loaded>
      <div className="row">
        <Button onClick={close}>Close</Button>
      </div>
    </Dialog>
  )
}
