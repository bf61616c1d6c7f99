import type { Actor, ApiKey } from '@org/agent-messaging-core'
import { errorIn, orUndefined } from '@org/agent-messaging-core/host'
import type { PortalSession, Sealed } from '@org/agent-messaging-core/storage'
import type { Context, MiddlewareHandler } from 'hono'
import { deleteCookie, getCookie, setCookie } from 'hono/cookie'
import { type ConsoleDeps, type Env, type PageRequest, BASE } from '../context.js'
import { show, showError, showProblem } from '../parts/layout.js'
import { isPortalPath, ReturnLink } from './portal-pages.js'
import { projectNameOf } from './session.js'

const COOKIE = 'agent_messaging_portal'
const PURPOSE = 'console/portal'

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
    const session = await d.service.host.findOpenPortal({ portalId: id }).catch(errorIn)
    if ('kind' in session) {
      if (session.kind === 'unavailable') return showError(c, session)
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
export function idIn(c: Context, { crypto }: Pick<ConsoleDeps, 'crypto'>) {
  const sealed = Buffer.from(getCookie(c, COOKIE) ?? '', 'base64url').toString()
  return crypto.unseal(sealed as Sealed, PURPOSE)
}

export function remember(c: PageRequest, d: ConsoleDeps, { id, until }: PortalSession) {
  c.set('portalId', id)
  const sealed = d.crypto.seal(id, PURPOSE)
  setCookie(c, COOKIE, Buffer.from(sealed).toString('base64url'), {
    ...cookieOptions(c, d),
    maxAge: Math.max(1, Math.floor((until - d.service.host.now()) / 1_000)),
  })
}

export const forgetPortal = (c: Context, d: ConsoleDeps) => {
  if (getCookie(c, COOKIE) !== undefined) deleteCookie(c, COOKIE, cookieOptions(c, d))
}

/** A browser sends the cookie of a frame in another site's page only with these attributes. */
function cookieOptions(c: Context, { portal, publicUrl }: ConsoleDeps) {
  const secure = (publicUrl() ?? c.req.url).startsWith('https:')
  return portal.frameOrigins.length > 0 && secure
    ? ({ path: BASE, httpOnly: true, sameSite: 'None', secure, partitioned: true } as const)
    : ({ path: BASE, httpOnly: true, sameSite: 'Lax', secure } as const)
}
