/** JavaScript that guests run: the build and the tests import it as text. */
declare module "*.guest.js" {
  const text: string
  export default text
}
