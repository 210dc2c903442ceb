/** The access key of a webhook, which is shown once. */
import type { ApiSchemas } from "../../api/Client.js"
import { Button } from "../../ui/Button.js"
import { CopyText } from "../../ui/CopyText.js"
import { Dialog } from "../../ui/Dialog.js"
import { Facts } from "../../ui/Page.js"

export const AccessKeyDialog = ({
  close,
  trigger: { accessKey, webhook }
}: {
  readonly trigger: ApiSchemas["TriggerWithKey"]
  readonly close: () => void
}) => (
  <Dialog title="The webhook's access key" isOpen close={close}>
    <p className="notice warn">
      The key is shown this once. Senders put it into the header <code>x-svc-access-key</code>.
    </p>
    <Facts
      facts={[
        ["Address", <CopyText key="url" text={webhook?.url ?? ""} />],
        ["Access key", <CopyText key="key" text={accessKey ?? ""} />]
      ]}
    />
    <div className="row">
      <Button kind="main" onClick={close}>
        I have stored it
      </Button>
    </div>
  </Dialog>
)
