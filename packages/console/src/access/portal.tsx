import type { Actor, ApiKey } from '@org/agent-messaging-core'
import { orUndefined } from '@org/agent-messaging-core/host'
import type { PortalSession } from '@org/agent-messaging-core/storage'
import type { Context, MiddlewareHandler } from 'hono'
import { deleteCookie, getCookie } from 'hono/cookie'
import { type ConsoleDeps, type Env, type PageRequest, BASE } from '../context.js'
import { show, showProblem } from '../parts/layout.js'
import { isPortalPath, ReturnLink } from './portal-pages.js'
import { projectNameOf, unlessOver, readSealed, writeSealed } from './session.js'

const COOKIE = { name: 'agent_messaging_portal', purpose: 'console/portal' }

/** Returns `to` if it is the path of a page that the session opens. */
export function firstPage({ permissions }: PortalSession, to = '') {
  if (/^[\w/-]+$/.test(to) && to.startsWith(`${BASE}/`) && isPortalPath(to, permissions)) return to
  return permissions.includes('project:webhooks')
    ? `${BASE}/webhooks`
    : `${BASE}/conversations/sessions`
}

/**
 * Serves the requests of a portal session, which come before a console session of the same browser.
 */
export const servePortal =
  (d: ConsoleDeps): MiddlewareHandler<Env> =>
  async (c, next) => {
    const id = c.get('portalId')
    if (id === undefined) return next()
    const session = await unlessOver(d.service.host.findOpenPortal({ portalId: id }))
    if (!session) {
      // htmx requested a part of a page, and must load the whole page.
      return c.req.header('hx-request') === undefined
        ? overPage(c)
        : c.body(null, 200, { 'HX-Refresh': 'true' })
    }
    c.set('portal', session)
    c.set('apiKey', keyOf(session))
    c.set('projectName', await customerOf(d, session))
    c.set('isOperator', false)
    c.set('actor', actorOf(session))
    if (c.req.path === BASE) return c.redirect(firstPage(session), 303)
    return isPortalPath(c.req.path, session.permissions)
      ? next()
      : showProblem(c, 404, 'Page not found')
  }

const actorOf = ({ id, title }: PortalSession): Actor => ({
  kind: 'portal',
  id,
  ...(title !== undefined && { name: title }),
})

/** Returns the name of the customer for whom a session acts. */
export const customerOf = (d: ConsoleDeps, { title, projectId }: PortalSession) =>
  title ?? projectNameOf(d, projectId)

/** The pages need an API key with permissions. The pages of conversations list the agents. */
const keyOf = ({ id, projectId, permissions, createdAt }: PortalSession): ApiKey => ({
  id,
  projectId,
  name: 'portal',
  createdAt,
  permissions: permissions.includes('project:message')
    ? [...permissions, 'project:agents']
    : permissions,
})

/** Ends the portal session of the request. Returns false if the request has none. */
export async function leavePortal(c: PageRequest, d: ConsoleDeps) {
  const id = c.get('portalId')
  if (id === undefined) return false
  forgetPortal(c, d)
  const found = await orUndefined(d.service.host.findOpenPortal({ portalId: id }))
  if (!found) return true
  c.set('portal', found)
  const end = { projectId: found.projectId, portalId: id, actor: actorOf(found) }
  await orUndefined(d.service.portals.end(end))
  return true
}

/** Shows that a session has ended. The page has no form for an API key. */
export const overPage = (
  c: PageRequest,
  title = 'This link was already used, or your session has ended',
) => {
  const session = c.get('portal')
  return show(
    c,
    { title, status: session ? 200 : 401 },
    <div class="empty">
      <h1>{title}</h1>
      {session?.returnUrl === undefined ? (
        <p>To continue, go back to the page that has the link, and open the link again.</p>
      ) : (
        <p>
          <ReturnLink to={session.returnUrl} />
        </p>
      )}
    </div>,
  )
}

/** Returns the id of the session in the cookie, if this service has sealed the cookie. */
export const idIn = (c: Context, d: Pick<ConsoleDeps, 'crypto'>) => readSealed(c, d, COOKIE)

export function remember(c: PageRequest, d: ConsoleDeps, { id, until }: PortalSession) {
  c.set('portalId', id)
  writeSealed(c, d, COOKIE, { text: id, until, options: cookieOptions(c, d) })
}

export const forgetPortal = (c: Context, d: ConsoleDeps) => {
  if (getCookie(c, COOKIE.name) !== undefined) deleteCookie(c, COOKIE.name, cookieOptions(c, d))
}

/** A browser sends the cookie of a frame in another site's page only with these attributes. */
function cookieOptions(c: Context, { portal, publicUrl }: ConsoleDeps) {
  const secure = (publicUrl() ?? c.req.url).startsWith('https:')
  return portal.frameOrigins.length > 0 && secure
    ? ({ path: BASE, httpOnly: true, sameSite: 'None', secure, partitioned: true } as const)
    : ({ path: BASE, httpOnly: true, sameSite: 'Lax', secure } as const)
}
