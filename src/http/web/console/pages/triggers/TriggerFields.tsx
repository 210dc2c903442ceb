/** All settings of a trigger as fields. */
import type { ApiError } from "../../api/Client.js"
import { CustomerChoice } from "../../ui/Choices.js"
import { Check, Select, TextArea, TextField } from "../../ui/Field.js"
import { Card } from "../../ui/Page.js"
import { RetryFields } from "../../ui/RetryFields.js"
import { AppEventFields } from "./AppEventFields.js"
import { RouteFields } from "./RouteFields.js"
import { ScheduleFields } from "./ScheduleFields.js"
import { type TriggerForm, type TypeOfTrigger, triggerTypes } from "./triggerForm.js"
import { WebhookFields } from "./WebhookFields.js"

const replays = [
  ["connection.reactivated", "Its connection works again"],
  ["deploy", "A route's workflow is deployed anew"],
  ["schedule", "The schedule of replays comes by"]
] as const

export const TriggerFields = ({
  error,
  form,
  isNew,
  put
}: {
  readonly form: TriggerForm
  readonly isNew: boolean
  readonly put: (part: Partial<TriggerForm>) => void
  readonly error: ApiError | null
}) => {
  const wrong = (path: string) => error?.detailOf(path)
  return (
    <>
      <Card title="What it is">
        <div className="stack">
          <div className="columns">
            {isNew && (
              <Select
                label="Type"
                value={form.type}
                onChange={(type) => put({ type: type as TypeOfTrigger })}
                options={triggerTypes}
                hint="It cannot be changed later."
                wrong={wrong("type")}
              />
            )}
            <TextField
              label="Name"
              value={form.name}
              onChange={(name) => put({ name })}
              isRequired
              wrong={wrong("name")}
            />
            {isNew && (
              <CustomerChoice
                none="All customers"
                value={form.customerId}
                onChange={(customerId) => put({ customerId })}
                wrong={wrong("customerId")}
              />
            )}
          </div>
          <TextArea
            label="Description"
            rows={2}
            value={form.description}
            onChange={(description) => put({ description })}
            wrong={wrong("description")}
          />
          {isNew && (
            <Check checked={form.isEnabled} onChange={(isEnabled) => put({ isEnabled })}>
              Enabled from the beginning
            </Check>
          )}
        </div>
      </Card>
      {form.type === "webhook" && (
        <Card title="Webhook">
          <WebhookFields
            webhook={form.webhook}
            put={(part) => put({ webhook: { ...form.webhook, ...part } })}
            wrong={wrong}
          />
        </Card>
      )}
      {form.type === "schedule" && (
        <Card title="Schedule">
          <ScheduleFields
            schedule={form.schedule}
            put={(part) => put({ schedule: { ...form.schedule, ...part } })}
            wrong={wrong}
          />
        </Card>
      )}
      {form.type === "app_event" && (
        <Card title="App event">
          <AppEventFields
            appEvent={form.appEvent}
            isNew={isNew}
            put={(part) => put({ appEvent: { ...form.appEvent, ...part } })}
            wrong={wrong}
          />
        </Card>
      )}
      {form.type === "event" && (
        <Card title="Event of svc">
          <TextField
            label="Type of the event"
            hint="Such as connection.expired or execution.failed; a * at its end stands for anything."
            value={form.event}
            onChange={(event) => put({ event })}
            isRequired
            wrong={wrong("event.type") ?? wrong("event")}
          />
        </Card>
      )}
      <Card title="Routes">
        <RouteFields
          routes={form.routes}
          hasPayload={form.type === "schedule"}
          onChange={(routes) => put({ routes })}
          problems={error?.details ?? []}
        />
      </Card>
      <Card title="Handing over, and replays">
        <div className="stack">
          <p className="soft">
            How handing an event over is tried again. Once a run exists, the retries of its workflow apply.
          </p>
          <RetryFields
            retry={form.delivery}
            onChange={(part) => put({ delivery: { ...form.delivery, ...part } })}
            wrong={(name) => wrong(`delivery.${name}`)}
          />
          <fieldset className="stack tight">
            <legend>Replays of dead letters without a request</legend>
            <Check
              checked={form.autoReplay !== null}
              onChange={(isOwn) => put({ autoReplay: isOwn ? { on: [], maxReplays: 3 } : null })}
            >
              Settings of its own, instead of the configuration value autoReplay
            </Check>
            {form.autoReplay !== null && (
              <AutoReplayFields replay={form.autoReplay} put={(autoReplay) => put({ autoReplay })} wrong={wrong} />
            )}
          </fieldset>
        </div>
      </Card>
    </>
  )
}

const AutoReplayFields = ({
  put,
  replay,
  wrong
}: {
  readonly replay: NonNullable<TriggerForm["autoReplay"]>
  readonly put: (replay: NonNullable<TriggerForm["autoReplay"]>) => void
  readonly wrong: (path: string) => string | undefined
}) => (
  <>
    {replays.map(([on, text]) => (
      <Check
        key={on}
        checked={replay.on.includes(on)}
        onChange={(isOn) => put({ ...replay, on: isOn ? [...replay.on, on] : replay.on.filter((one) => one !== on) })}
      >
        {text}
      </Check>
    ))}
    <TextField
      type="number"
      label="Replays at most"
      value={String(replay.maxReplays)}
      onChange={(value) => put({ ...replay, maxReplays: Number(value) })}
      wrong={wrong("autoReplay.maxReplays") ?? wrong("autoReplay.on")}
    />
  </>
)
