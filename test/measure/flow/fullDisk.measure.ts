/** A full disk is told at once, not when resending gives up. */
import { it } from "@effect/vitest"
import { eventually } from "../../support/eventually.js"
import { senderOf, serviceOnSmallDisk } from "../../support/fullDisk.js"
import { announce } from "../../support/LogExpectations.js"
import { assertWithin } from "../../support/pace.js"
import { canMount } from "../../support/smallDisk.js"

it.skipIf(!canMount)("a refusal for a full disk is told at once", { timeout: 180_000 }, async () => {
  announce(/"database\.refuses"|disk_full \(SQLSTATE 53100\)|"background_task\.|"audit\./)
  const { client, disk } = await serviceOnSmallDisk("base")
  const { send } = await senderOf(client)
  disk.fill()
  await eventually(
    () => send(),
    ({ status }) => status === 503
  )
  const started = performance.now()
  await send()
  assertWithin(performance.now() - started, 5_000)
})
