/** The settings of a schedule. */
import { useId } from "react"
import { Check, Field, Select, TextField } from "../../ui/Field.js"
import type { TriggerForm } from "./triggerForm.js"

type Schedule = TriggerForm["schedule"]

const zones: ReadonlyArray<string> = ["UTC", ...Intl.supportedValuesOf("timeZone")]
const unitOf: Readonly<Record<string, string>> = { daily: "days", weekly: "weeks", monthly: "months" }

/** As the browser's field has a time: in the person's zone, without its name. */
const localTime = (time: string): string => {
  const at = new Date(time)
  return time === "" || Number.isNaN(at.getTime())
    ? ""
    : new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}

export const ScheduleFields = ({
  put,
  schedule,
  wrong
}: {
  readonly schedule: Schedule
  readonly put: (part: Partial<Schedule>) => void
  readonly wrong: (path: string) => string | undefined
}) => {
  const list = useId()
  const { mode } = schedule
  return (
    <div className="stack">
      <div className="columns">
        <Select
          label="Mode"
          value={mode}
          onChange={(chosen) => put({ mode: chosen })}
          options={[
            ["cron", "Cron: five fields"],
            ["interval", "Interval: equal distances"],
            ["daily", "Every so many days"],
            ["weekly", "Every so many weeks"],
            ["monthly", "Every so many months"]
          ]}
          wrong={wrong("schedule.mode")}
        />
        {mode === "cron" ? (
          <TextField
            label="Cron"
            hint="Minute, hour, day, month, weekday: 30 2 * * * is 2:30 each night."
            value={schedule.cron}
            onChange={(cron) => put({ cron })}
            wrong={wrong("schedule.cron")}
          />
        ) : (
          <TextField
            type="number"
            label={mode === "interval" ? "Every" : `Every so many ${unitOf[mode] ?? ""}`}
            value={String(schedule.n)}
            onChange={(n) => put({ n: Number(n) })}
            wrong={wrong("schedule.every.n") ?? wrong("schedule.every")}
          />
        )}
        {mode === "interval" && (
          <Select
            label="Unit"
            value={schedule.unit}
            onChange={(unit) => put({ unit })}
            options={["minutes", "hours", "days", "weeks"]}
            wrong={wrong("schedule.every.unit")}
          />
        )}
        <Field label="Time zone" hint="An IANA name, such as Europe/Berlin." wrong={wrong("schedule.timezone")}>
          {(control) => (
            <>
              <input
                {...control}
                className="input"
                list={list}
                value={schedule.timezone}
                onChange={(event) => put({ timezone: event.target.value })}
              />
              <datalist id={list}>
                {zones.map((zone) => (
                  <option key={zone} value={zone} />
                ))}
              </datalist>
            </>
          )}
        </Field>
        <TextField
          type="datetime-local"
          label="Starts at (in your own time zone)"
          hint={
            mode === "cron"
              ? "Empty: from now on."
              : "Its time of day, weekday and day are those of all firings. Empty: now."
          }
          value={localTime(schedule.startsAt)}
          onChange={(value) => put({ startsAt: value === "" ? "" : new Date(value).toISOString() })}
          wrong={wrong("schedule.startsAt")}
        />
        <TextField
          type="number"
          label="Delay of each run in minutes"
          value={String(schedule.delayMinutes)}
          onChange={(value) => put({ delayMinutes: Number(value) })}
          wrong={wrong("schedule.delayMinutes")}
        />
        <Select
          label="While an earlier run has not ended"
          value={schedule.overlap}
          onChange={(overlap) => put({ overlap })}
          options={[
            ["skip", "Skip the firing"],
            ["queue", "Wait for its end"],
            ["allow", "Start beside it"]
          ]}
          wrong={wrong("schedule.overlap")}
        />
        <Select
          label="Of missed firings"
          value={schedule.catchUp}
          onChange={(catchUp) => put({ catchUp })}
          options={[
            ["none", "None fires afterwards"],
            ["one", "The last one fires afterwards"],
            ["all", "All fire afterwards, 1,000 at most"]
          ]}
          wrong={wrong("schedule.catchUp")}
        />
      </div>
      <Check checked={schedule.runOnCreate} onChange={(runOnCreate) => put({ runOnCreate })}>
        Fire once when it is created
      </Check>
    </div>
  )
}
