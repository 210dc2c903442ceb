/** Creates a trigger. */
import { useState } from "react"
import { useLocation, useSearchParams } from "wouter"
import { type ApiSchemas, bodyOf, client } from "../../api/Client.js"
import { useChange } from "../../api/Reads.js"
import { Button } from "../../ui/Button.js"
import { Page } from "../../ui/Page.js"
import { Guard, Problem } from "../../ui/States.js"
import { AccessKeyDialog } from "./AccessKeyDialog.js"
import { bodyOfTrigger, emptyTrigger, isTriggerReady, type TriggerForm } from "./triggerForm.js"
import { TriggerFields } from "./TriggerFields.js"

export const NewTrigger = () => {
  const [search] = useSearchParams()
  const [form, setForm] = useState<TriggerForm>(() => emptyTrigger("webhook", search.get("workflow") ?? ""))
  const [made, setMade] = useState<ApiSchemas["TriggerWithKey"]>()
  const [, go] = useLocation()
  const create = useChange(
    () =>
      bodyOf(
        client.POST("/api/v1/triggers", {
          body: {
            type: form.type,
            status: form.isEnabled ? "active" : "disabled",
            ...(form.customerId === "" ? {} : { customerId: form.customerId }),
            ...bodyOfTrigger(form)
          }
        })
      ),
    {
      changes: ["/api/v1/triggers"],
      done: ({ data }) => (data.accessKey === null ? go(`/triggers/${data.id}`) : setMade(data))
    }
  )
  return (
    <Page title="New trigger" above={[{ name: "Triggers", to: "/triggers" }]}>
      <Guard permission="workflows:create">
        <form
          className="stack"
          onSubmit={(event) => {
            event.preventDefault()
            if (isTriggerReady(form) && !create.isRunning) create.run()
          }}
        >
          <TriggerFields form={form} isNew put={(part) => setForm({ ...form, ...part })} error={create.error} />
          <Problem error={create.error} />
          <div className="row">
            <Button
              type="submit"
              kind="main"
              needs="workflows:create"
              isRunning={create.isRunning}
              disabled={!isTriggerReady(form)}
            >
              Create
            </Button>
            {!isTriggerReady(form) && (
              <span className="soft">It takes a name, a workflow for each route, and readable JSON.</span>
            )}
          </div>
        </form>
      </Guard>
      {made !== undefined && <AccessKeyDialog trigger={made} close={() => go(`/triggers/${made.id}`)} />}
    </Page>
  )
}
