/** One trigger: how it stands, its settings, and a test of it. */
import { useState } from "react"
import { Link, useParams } from "wouter"
import { type ApiSchemas, bodyOf, client } from "../../api/Client.js"
import { useChange, useRead, useRemoval } from "../../api/Reads.js"
import { Badge } from "../../ui/Badge.js"
import { Button } from "../../ui/Button.js"
import { Confirm } from "../../ui/Dialog.js"
import { Menu } from "../../ui/Menu.js"
import { Page } from "../../ui/Page.js"
import { Loaded, Problem } from "../../ui/States.js"
import { Tabs } from "../../ui/Tabs.js"
import { useToast } from "../../ui/Toasts.js"
import { AccessKeyDialog } from "./AccessKeyDialog.js"
import { NewTrigger } from "./NewTrigger.js"
import { triggerReads, triggerReadsEvery, triggerVersion } from "./triggerReads.js"
import { TriggerSettings } from "./TriggerSettings.js"
import { TriggerState } from "./TriggerState.js"
import { TriggerTest } from "./TriggerTest.js"

type Record = ApiSchemas["Trigger"]
interface OfOne {
  readonly trigger: Record
}

/** `new` stands for one that does not exist yet. */
export const Trigger = () => {
  const { trg = "" } = useParams()
  return trg === "new" ? <NewTrigger /> : <OpenTrigger trg={trg} />
}

const OpenTrigger = ({ trg }: { readonly trg: string }) => {
  const read = useRead(
    "/api/v1/triggers/{trg}",
    { params: { path: { trg } } },
    {
      every: (last) => triggerReadsEvery([last?.data.appEvent?.subscription ?? "none"])
    }
  )
  const trigger = read.data?.data
  return (
    <Page
      title={trigger?.name ?? "Trigger"}
      above={[{ name: "Triggers", to: "/triggers" }]}
      beside={trigger !== undefined && <Badge word={trigger.status} />}
      actions={trigger !== undefined && <Actions trigger={trigger} />}
    >
      <Loaded of={read} what="the trigger">
        {({ data }) => (
          <>
            {data.managedBy !== null && (
              <p className="notice">
                The steps of <Link href={`/workflows/${data.managedBy.id}`}>a workflow</Link> describe this trigger: it
                is changed there.
              </p>
            )}
            <Tabs
              label="Parts of the trigger"
              tabs={[
                { id: "state", name: "State", of: () => <TriggerState trigger={data} /> },
                { id: "settings", name: "Settings", of: () => <TriggerSettings key={data.id} trigger={data} /> },
                { id: "test", name: "Test", of: () => <TriggerTest trigger={data} /> }
              ]}
            />
          </>
        )}
      </Loaded>
    </Page>
  )
}

const Actions = ({ trigger }: OfOne) => {
  const { managedBy, status, type, webhook } = trigger
  const [shown, show] = useState<"delete" | "rotate">()
  const [rotated, setRotated] = useState<ApiSchemas["TriggerWithKey"]>()
  const tell = useToast()
  const isActive = status === "active"
  const toggle = useChange(
    () =>
      bodyOf(
        isActive
          ? client.POST("/api/v1/triggers/{trg}/disable", { params: triggerVersion(trigger) })
          : client.POST("/api/v1/triggers/{trg}/enable", { params: triggerVersion(trigger) })
      ),
    { changes: triggerReads, done: () => tell(isActive ? "The trigger is disabled." : "The trigger is enabled.") }
  )
  const close = () => show(undefined)
  return (
    <>
      {managedBy === null && (
        <Button needs="workflows:update" isRunning={toggle.isRunning} onClick={() => toggle.run()}>
          {isActive ? "Disable" : "Enable"}
        </Button>
      )}
      <Menu
        label="More"
        items={[
          ...(type === "webhook" && webhook?.auth === "access_key"
            ? [{ name: "Rotate the access key …", needs: "workflows:update", run: () => show("rotate") }]
            : []),
          { name: "Delete …", needs: "workflows:delete", run: () => show("delete") }
        ]}
      />
      <Problem error={toggle.error} />
      {shown === "delete" && <DeleteDialog trigger={trigger} close={close} />}
      {shown === "rotate" && (
        <RotateDialog
          trigger={trigger}
          close={close}
          done={(after) => {
            close()
            setRotated(after)
          }}
        />
      )}
      {rotated !== undefined && <AccessKeyDialog trigger={rotated} close={() => setRotated(undefined)} />}
    </>
  )
}

const DeleteDialog = ({ close, trigger }: OfOne & { readonly close: () => void }) => {
  const remove = useRemoval(
    () => bodyOf(client.DELETE("/api/v1/triggers/{trg}", { params: { path: { trg: trigger.id } } })),
    { list: "/api/v1/triggers", to: "/triggers" }
  )
  return (
    <Confirm
      title={`Delete “${trigger.name}”?`}
      verb="Delete"
      isOpen
      close={close}
      send={() => remove.run()}
      isRunning={remove.isRunning}
      error={remove.error}
    >
      <p>
        It starts nothing any more, and its subscriptions end. Its events and their runs stay as long as the plan keeps
        them.
      </p>
    </Confirm>
  )
}

const RotateDialog = ({
  close,
  done,
  trigger
}: OfOne & { readonly close: () => void; readonly done: (after: ApiSchemas["TriggerWithKey"]) => void }) => {
  const rotate = useChange(
    () => bodyOf(client.POST("/api/v1/triggers/{trg}/rotate-key", { params: triggerVersion(trigger) })),
    { changes: triggerReads, done: ({ data }) => done(data) }
  )
  return (
    <Confirm
      title="Rotate the access key?"
      verb="Rotate the key"
      isOpen
      close={close}
      send={() => rotate.run()}
      isRunning={rotate.isRunning}
      error={rotate.error}
    >
      <p>The present key, {trigger.webhook?.accessKeyPrefix ?? ""}…, stops working within a second.</p>
    </Confirm>
  )
}
