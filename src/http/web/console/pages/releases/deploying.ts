/** Who may create and deploy releases. */
import { useMay } from "../../api/Session.js"

/** Why not, for a button; absent: the person may deploy to protected or to other environments. */
export const useDeployRefusal = (): { readonly because?: string } => {
  const isAllowed = [useMay("workflows:deploy_test"), useMay("workflows:deploy_prod")].includes(true)
  return isAllowed ? {} : { because: "This needs the permission workflows:deploy_test or workflows:deploy_prod." }
}
