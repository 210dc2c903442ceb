/** Changes the settings of a trigger. */
import { useState } from "react"
import { type ApiSchemas, bodyOf, client } from "../../api/Client.js"
import { useChange } from "../../api/Reads.js"
import { Button } from "../../ui/Button.js"
import { Problem } from "../../ui/States.js"
import { useToast } from "../../ui/Toasts.js"
import { bodyOfTrigger, formOfTrigger, isTriggerReady } from "./triggerForm.js"
import { TriggerFields } from "./TriggerFields.js"
import { triggerReads, triggerVersion } from "./triggerReads.js"

type Record = ApiSchemas["Trigger"]

export const TriggerSettings = ({ trigger }: { readonly trigger: Record }) => {
  // What is typed stays while the trigger is read again; its version is that of the first read.
  const [base, setBase] = useState(trigger)
  const [form, setForm] = useState(() => formOfTrigger(trigger))
  const [round, setRound] = useState(0)
  const tell = useToast()
  const begin = (from: Record) => {
    setBase(from)
    setForm(formOfTrigger(from))
    setRound((before) => before + 1)
  }
  const save = useChange(
    () =>
      bodyOf(
        client.PUT("/api/v1/triggers/{trg}", {
          params: triggerVersion(base),
          body: bodyOfTrigger(form)
        })
      ),
    {
      changes: triggerReads,
      done: ({ data }) => {
        begin(data)
        tell("The settings are saved.")
      }
    }
  )
  const isOutdated = trigger.version > base.version
  return (
    <form
      key={round}
      className="stack"
      onSubmit={(event) => {
        event.preventDefault()
        if (isTriggerReady(form) && !save.isRunning) save.run()
      }}
    >
      {isOutdated && (
        <div className="notice warn row">
          <p>The trigger has changed since these fields were filled.</p>
          <Button onClick={() => begin(trigger)}>Fill them again</Button>
          <Button onClick={() => setBase(trigger)}>Keep what is typed</Button>
        </div>
      )}
      <TriggerFields form={form} isNew={false} put={(part) => setForm({ ...form, ...part })} error={save.error} />
      <Problem error={save.error} />
      <div>
        <Button
          type="submit"
          kind="main"
          needs="workflows:update"
          isRunning={save.isRunning}
          disabled={!isTriggerReady(form) || trigger.managedBy !== null}
        >
          Save the settings
        </Button>
      </div>
    </form>
  )
}
