/** Every setting of a workflow. Those that are not part of the draft take effect at once. */
import { useState } from "react"
import { type ApiSchemas, bodyOf, client } from "../../api/Client.js"
import { useChange } from "../../api/Reads.js"
import { Button } from "../../ui/Button.js"
import { Check, Select, TextArea, TextField } from "../../ui/Field.js"
import { Card, Facts } from "../../ui/Page.js"
import { Problem } from "../../ui/States.js"
import { Time } from "../../ui/Time.js"
import { useToast } from "../../ui/Toasts.js"
import { RetryFields } from "../../ui/RetryFields.js"
import type { OpenDraft } from "./useDraft.js"

type Workflow = ApiSchemas["Workflow"]

const tiers = [
  ["instant", "Instant: at most 30 s, the caller waits for the output"],
  ["standard", "Standard: at most 15 min of work, the caller gets the id"],
  ["long", "Long: at most 36 h, also for waits and approvals"]
] as const

const formOf = ({ callbackUrl, description, enabled, name, retry, tags, tier, timeoutMs }: Workflow) => ({
  name,
  description,
  enabled,
  tier: tier as string,
  timeoutMs: timeoutMs === null ? "" : String(timeoutMs),
  callbackUrl: callbackUrl ?? "",
  tags: tags.join(", "),
  retry
})

type SettingsForm = ReturnType<typeof formOf>

const tagsOf = (text: string): Array<string> =>
  text
    .split(",")
    .map((tag) => tag.trim())
    .filter((tag) => tag !== "")

/** The members that differ from what was read. */
const changedSettings = (form: SettingsForm, base: SettingsForm) => {
  const isChanged = (name: keyof SettingsForm): boolean => JSON.stringify(form[name]) !== JSON.stringify(base[name])
  return {
    ...(isChanged("name") ? { name: form.name } : {}),
    ...(isChanged("description") ? { description: form.description } : {}),
    ...(isChanged("enabled") ? { enabled: form.enabled } : {}),
    ...(isChanged("tier") ? { tier: form.tier as Workflow["tier"] } : {}),
    ...(isChanged("timeoutMs") ? { timeoutMs: form.timeoutMs === "" ? null : Number(form.timeoutMs) } : {}),
    ...(isChanged("callbackUrl") ? { callbackUrl: form.callbackUrl === "" ? null : form.callbackUrl } : {}),
    ...(isChanged("tags") ? { tags: tagsOf(form.tags) } : {}),
    ...(isChanged("retry") ? { retry: form.retry } : {})
  }
}

export const WorkflowSettings = ({ draft: { autosave, workflow } }: { readonly draft: OpenDraft }) => {
  const [base, setBase] = useState(() => formOf(workflow))
  const [form, setForm] = useState(base)
  const put = (part: Partial<typeof form>) => setForm((before) => ({ ...before, ...part }))
  const tell = useToast()
  const save = useChange(
    () =>
      autosave.change(async (version) => {
        const { data } = await bodyOf(
          client.PUT("/api/v1/workflows/{wid}", {
            params: { path: { wid: workflow.id }, header: { "If-Match": `"${version}"` } },
            // Others' changes of other settings stay.
            body: changedSettings(form, base)
          })
        )
        return data
      }),
    {
      changes: ["/api/v1/workflows"],
      done: (saved) => {
        setBase(formOf(saved))
        setForm(formOf(saved))
        tell("The settings are saved.")
      }
    }
  )
  const wrong = (path: string) => save.error?.detailOf(path)
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault()
        if (!save.isRunning) save.run()
      }}
    >
      <div className="columns">
        <Card title="What it is">
          <div className="stack">
            <TextField
              label="Name"
              value={form.name}
              onChange={(name) => put({ name })}
              isRequired
              wrong={wrong("name")}
              hint="Calls by name use the new one from then on."
            />
            <TextArea
              label="Description"
              rows={3}
              value={form.description}
              onChange={(description) => put({ description })}
              wrong={wrong("description")}
            />
            <TextField
              label="Tags"
              hint="Separated by commas."
              value={form.tags}
              onChange={(tags) => put({ tags })}
              wrong={save.error?.details.find(({ path }) => path.startsWith("tags"))?.message}
            />
            <Check checked={form.enabled} onChange={(enabled) => put({ enabled })}>
              Enabled: a disabled workflow refuses all runs
            </Check>
          </div>
        </Card>
        <Card title="How it runs">
          <div className="stack">
            <Select
              label="Tier"
              value={form.tier}
              onChange={(tier) => put({ tier })}
              options={tiers}
              wrong={wrong("tier")}
            />
            <TextField
              label="Time limit in milliseconds"
              type="number"
              hint="Empty: that of the tier."
              value={form.timeoutMs}
              onChange={(timeoutMs) => put({ timeoutMs })}
              wrong={wrong("timeoutMs")}
            />
            <TextField
              label="Callback URL"
              hint="Gets a signed request at the end of each run that names no other. Empty: none."
              value={form.callbackUrl}
              onChange={(callbackUrl) => put({ callbackUrl })}
              wrong={wrong("callbackUrl")}
            />
          </div>
        </Card>
        <Card title="Retries of runs that failed">
          <div className="stack">
            <Check checked={form.retry.enabled} onChange={(enabled) => put({ retry: { ...form.retry, enabled } })}>
              Retry runs that failed for a reason that may pass
            </Check>
            <RetryFields
              retry={form.retry}
              onChange={(retry) => put({ retry: { ...form.retry, ...retry } })}
              wrong={(name) => wrong(`retry.${name}`)}
            />
          </div>
        </Card>
      </div>
      <Problem error={save.error} />
      <div>
        <Button type="submit" kind="main" needs="workflows:update" isRunning={save.isRunning}>
          Save the settings
        </Button>
      </div>
      <Card title="About it">
        <Facts
          facts={[
            ["Customer", workflow.customerId ?? "all customers"],
            ["Slug", <code key="slug">{workflow.slug}</code>],
            ["Created", <Time key="created" at={workflow.createdAt} isExact />],
            ["Created by", <code key="by">{workflow.createdBy}</code>],
            ["Changed", <Time key="changed" at={workflow.updatedAt} isExact />],
            [
              "Actions that it calls",
              workflow.bindings.length === 0
                ? "none"
                : workflow.bindings
                    .map(
                      ({ action, connector, version }) =>
                        `${connector}.${action}${version === null ? "" : `@${version}`}`
                    )
                    .join(", ")
            ]
          ]}
        />
      </Card>
    </form>
  )
}
