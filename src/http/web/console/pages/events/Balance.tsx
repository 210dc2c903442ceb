/** The reconciliation of a day: what was accepted equals what became of it. */
import { useState } from "react"
import { Link } from "wouter"
import { useRead } from "../../api/Reads.js"
import { Button } from "../../ui/Button.js"
import { Card } from "../../ui/Page.js"
import { Loaded } from "../../ui/States.js"

export const Balance = () => {
  const [isOpen, setOpen] = useState(false)
  return (
    <div className="balance">
      {isOpen ? (
        <Card
          title="Nothing is lost: today's events"
          actions={
            <Button kind="plain" onClick={() => setOpen(false)}>
              Hide
            </Button>
          }
        >
          <Equation />
        </Card>
      ) : (
        <Button kind="plain" onClick={() => setOpen(true)}>
          Show that nothing is lost
        </Button>
      )}
    </div>
  )
}

const Equation = () => {
  const found = useRead("/api/v1/events/reconciliation", undefined, { every: 15_000 })
  return (
    <Loaded of={found} what="the reconciliation">
      {({ data }) => {
        const isWhole = data.unaccounted.length === 0 && data.missing.length === 0
        return (
          <div className="stack tight">
            <p>
              {data.accepted.toLocaleString()} accepted = {data.executed.toLocaleString()} executed +{" "}
              {data.ignored.toLocaleString()} ignored + {data.held.toLocaleString()} held +{" "}
              {data.waiting.toLocaleString()} waiting + {data.dead.toLocaleString()} dead +{" "}
              {data.duplicate.toLocaleString()} duplicates
            </p>
            <p className={isWhole ? "soft" : "notice bad"}>
              {isWhole
                ? "Every accepted event is accounted for."
                : `${data.unaccounted.length} events are not accounted for, and of ${data.missing.length} minutes rows are missing.`}
            </p>
            {data.unaccounted.length > 0 && (
              <ul>
                {data.unaccounted.slice(0, 20).map((id) => (
                  <li key={id}>
                    <Link href={`/events/${id}`}>{id}</Link>
                  </li>
                ))}
              </ul>
            )}
          </div>
        )
      }}
    </Loaded>
  )
}
