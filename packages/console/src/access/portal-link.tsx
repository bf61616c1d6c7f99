import { Hidden, PostForm } from '../parts/fields.js'
import type { PortalSession } from '@org/agent-messaging-core/storage'
import { type ConsoleDeps, newRoutes, type PageRequest, BASE } from '../context.js'
import { textIn } from '../parts/input.js'
import { show } from '../parts/layout.js'
import { customerOf, firstPage, overPage, remember } from './portal.js'
import { PORTAL } from './portal-pages.js'
import { projectNameOf, signedIn, type SignedIn, unlessOver } from './session.js'

/** Opens the session of a link, and asks first if the browser has another session. */
export const portalRoutes = (d: ConsoleDeps) =>
  newRoutes()
    .get('/portal', async (c) => {
      // Link previews and scanners send HEAD. Such a request must not use up the link.
      if (c.req.method === 'HEAD') return c.body(null, 200)
      const { code = '', to = '' } = c.req.query()
      return followLink(c, d, { code, to, isAgreed: false })
    })
    .post('/portal', async (c) => {
      const form = await c.req.parseBody()
      const [code, to] = [textIn(form, 'code'), textIn(form, 'to')]
      return followLink(c, d, { code, to, isAgreed: true })
    })

/** `to`: the path of the page that the link opens, if the session can open the page. */
type Followed = { readonly code: string; readonly to: string; readonly isAgreed: boolean }

async function followLink(c: PageRequest, d: ConsoleDeps, { code, to, isAgreed }: Followed) {
  const found = await unlessOver(d.service.host.findPortalLink({ code }))
  if (!found) return overPage(c)
  const { session, isUsable } = found
  const others = await openSessions(c, d)
  const { portal, operator } = others
  const isSameCustomer = portal?.projectId === session.projectId
  if (isUsable) {
    const mustAsk = !isSameCustomer && (portal ?? operator) !== undefined
    if (mustAsk && !isAgreed) return askPage(c, d, { code, to, session, others })
    const opened = await unlessOver(d.service.host.openPortal({ code }))
    if (opened) {
      remember(c, d, opened)
      return c.redirect(firstPage(opened, to), 303)
    }
  }
  // A used link still works in a browser that has a session of its customer.
  return portal && isSameCustomer ? c.redirect(firstPage(portal, to), 303) : overPage(c)
}

/** The open sessions of a browser. */
type Sessions = {
  readonly portal: PortalSession | undefined
  readonly operator: SignedIn | undefined
}

async function openSessions(c: PageRequest, d: ConsoleDeps) {
  const id = c.get('portalId')
  const portal =
    id === undefined ? undefined : await unlessOver(d.service.host.findOpenPortal({ portalId: id }))
  return { portal, operator: await unlessOver(signedIn(c, d)) }
}

type Question = Omit<Followed, 'isAgreed'> & {
  readonly session: PortalSession
  readonly others: Sessions
}

/** Asks before the link replaces a session or hides the console. */
async function askPage(c: PageRequest, d: ConsoleDeps, { code, to, session, others }: Question) {
  const customer = await customerOf(d, session)
  const { portal, operator } = others
  return show(
    c,
    { title: 'Open the portal?' },
    <PostForm
      action={PORTAL}
      class="narrow card stack"
      button={
        <>
          Act for <bdi>{customer}</bdi>
        </>
      }
      beside={
        <a class="button" href={BASE}>
          Cancel
        </a>
      }
    >
      <h1>
        Open the portal of <bdi>{customer}</bdi>?
      </h1>
      <p>This browser has another session:</p>
      <ul class="consequences">
        {portal && (
          <li>
            The portal of <bdi>{await customerOf(d, portal)}</bdi>. You leave it if you continue.
          </li>
        )}
        {operator && (
          <li>
            The console of operators, {await operatorName(d, operator)}. You cannot use it until you
            leave the portal.
          </li>
        )}
      </ul>
      <Hidden values={{ code, to }} />
    </PostForm>,
  )
}

async function operatorName(d: ConsoleDeps, { apiKey }: SignedIn) {
  if (!apiKey) return <>signed in with the operator key</>
  return (
    <>
      with the API key <bdi>{apiKey.name}</bdi> of the project{' '}
      <bdi>{await projectNameOf(d, apiKey.projectId)}</bdi>
    </>
  )
}
