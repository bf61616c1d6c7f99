import type { ApiKey } from '@org/agent-messaging-core'
import { errorIn, orUndefined } from '@org/agent-messaging-core/host'
import type { MiddlewareHandler } from 'hono'
import { setCookie } from 'hono/cookie'
import { textIn } from '../parts/input.js'
import { show, showProblem } from '../parts/layout.js'
import { type ConsoleDeps, type Env, newRoutes, type PageRequest, BASE } from '../context.js'
import { forgetPortal, leavePortal, overPage } from './portal.js'
import { Problem } from '../parts/parts.js'
import { problemText } from '../parts/texts.js'
import {
  addToSession,
  beginSession,
  type Credential,
  endSession,
  forgetSession,
  isOperatorKey,
  projectNameOf,
  signedIn,
  unlessOver,
} from './session.js'

const THEMES = ['auto', 'light', 'dark']
const A_YEAR_S = 31_536_000
const SIGNED_OUT_HERE =
  'You are signed out in this browser. The service could not reach its storage, so a copy of ' +
  'your cookie stays valid until it expires.'

const LINK_IS_USED =
  'This link was already used or has expired. Sign in with an API key, or restart the server ' +
  'for a new link.'

/** The routes that need no session: sign in, sign out and the theme. */
export const signInRoutes = (d: ConsoleDeps) =>
  newRoutes()
    .get('/sign-in', (c) => signInPage(c, { to: c.req.query('to') }))

    .post('/sign-in', async (c) => {
      const form = await c.req.parseBody()
      const key = textIn(form, 'key').trim()
      const found = await credentialOf(d, key).catch(errorIn)
      if ('kind' in found) {
        const isWrong = found.kind === 'unauthorized'
        const problem = isWrong ? 'This is not a valid API key.' : problemText(found)
        return signInPage(c, { to: form['to'], problem, status: isWrong ? 401 : 503 })
      }
      forgetPortal(c, d)
      if (textIn(form, 'add') === 'yes') await addToSession(c, d, found)
      else beginSession(c, d, found)
      return c.redirect(pathIn(form['to']), 303)
    })

    .get('/enter', async (c) => {
      // Link previews and scanners send HEAD. It must not use the link up.
      if (c.req.method === 'HEAD') return c.body(null, 200)
      const key = d.links.use(c.req.query('code') ?? '')
      if (key !== undefined) {
        forgetPortal(c, d)
        beginSession(c, d, { key })
      }
      // A used link still works in a browser that is signed in.
      else if ((await orUndefined(signedIn(c, d))) === undefined)
        return signInPage(c, { problem: LINK_IS_USED, status: 401 })
      return c.redirect(BASE, 303)
    })

    .post('/sign-out', async (c) => {
      if (await leavePortal(c, d)) return overPage(c, 'You have left the portal')
      const error = await endSession(c, d).catch(errorIn)
      return error
        ? signInPage(c, { problem: SIGNED_OUT_HERE, status: 503 })
        : c.redirect(`${BASE}/sign-in`, 303)
    })

    .post('/theme', async (c) => {
      const { theme, to } = await c.req.parseBody()
      const chosen = THEMES.find((one) => one === theme) ?? 'auto'
      setCookie(c, 'agent_messaging_theme', chosen, {
        path: BASE,
        httpOnly: true,
        sameSite: 'Lax',
        maxAge: A_YEAR_S,
      })
      return c.redirect(pathIn(to), 303)
    })

async function credentialOf(d: ConsoleDeps, text: string): Promise<Credential> {
  if (isOperatorKey(d, text)) return { operatorKey: text }
  await d.service.host.authenticate({ key: text })
  return { key: text }
}

/** The pages that the operator's key opens. It belongs to no project. */
const PROJECTS = `${BASE}/projects`
const isOperatorPath = (path: string) => path === PROJECTS || path.startsWith(`${PROJECTS}/`)

/** Redirects requests without a session to the sign-in page. */
export const requireSession =
  (d: ConsoleDeps): MiddlewareHandler<Env> =>
  async (c, next) => {
    if (c.get('portal')) return next()
    const found = await unlessOver(signedIn(c, d))
    if (found) {
      const { apiKey, isOperator } = found
      c.set('isOperator', isOperator)
      if (!apiKey) return isOperatorPath(c.req.path) ? next() : c.redirect(PROJECTS, 303)
      c.set('apiKey', apiKey)
      c.set('actor', { kind: 'console', id: apiKey.id, name: apiKey.name })
      c.set('projectName', await projectNameOf(d, apiKey.projectId))
      return next()
    }
    forgetSession(c, d)
    const isForm = c.req.method !== 'GET'
    const signIn = `${BASE}/sign-in?${isForm ? 'notice=undone&' : ''}to=${encodeURIComponent(isForm ? pathBefore(c) : addressOf(c))}`
    // htmx requested a part of a page, and must leave the whole page.
    if (c.req.header('hx-request') !== undefined)
      return c.body(null, 200, { 'HX-Redirect': signIn })
    return c.redirect(signIn, 303)
  }

/**
 * Refuses a form of another project's page, because another tab has switched the project. For the
 * same reason, an update of a part loads the whole page. The addresses of the operator's pages name
 * their project.
 */
export const requireShownProject: MiddlewareHandler<Env> = async (c, next) => {
  const current = (c.get('apiKey') as ApiKey | undefined)?.projectId
  const updated = c.req.header('x-shown-project')
  if (updated !== undefined && updated !== current)
    return c.body(null, 200, { 'HX-Refresh': 'true' })
  if (c.req.path === `${BASE}/switch` || isOperatorPath(c.req.path)) return next()
  const shown = textIn(await c.req.parseBody({ all: true }), 'shownProject')
  return shown === '' || shown === current
    ? next()
    : showProblem(c, 409, 'Another tab switched the project, so nothing was done')
}

/** Accepts requests of the operator. For others, the pages do not exist. */
export const needOperator: MiddlewareHandler<Env> = (c, next) =>
  c.get('isOperator') ? next() : Promise.resolve(showProblem(c, 404, 'Page not found'))

type SignInPage = {
  readonly to?: unknown
  readonly problem?: string
  readonly status?: 200 | 401 | 503
}

export const KEY_FIELD = { type: 'password', required: true, autocomplete: 'off' } as const

const signInPage = (c: PageRequest, { to, problem, status = 200 }: SignInPage) =>
  show(
    c,
    { title: 'Sign in', status },
    <form class="sign-in card" method="post" action={`${BASE}/sign-in`}>
      <h1>Sign in</h1>
      <p class="muted">
        Use an API key of your project. You get the permissions of the key. If the key is revoked,
        your session ends.
      </p>
      <Problem text={problem} />
      <label for="key">API key</label>
      <input id="key" name="key" {...KEY_FIELD} spellcheck={false} placeholder="amk_…" autofocus />
      <input type="hidden" name="to" value={pathIn(to)} />
      <button class="primary">Sign in</button>
      {/\/recoveries\//.test(pathIn(to)) && (
        <p class="muted small">
          Customers have no API key. Open the webhooks in the product that shows them to you, and
          then this address again.
        </p>
      )}
      <p class="muted small">
        No key yet? <code>npm start</code> prints a key and a link that signs you in once. On other
        servers, run <code>agent-messaging keys create</code>.
      </p>
    </form>,
  )

const addressOf = (c: PageRequest) => {
  const { pathname, search } = new URL(c.req.url)
  return pathname + search
}

/** Returns the path of the page that contained the form, from the Referer header. */
function pathBefore(c: PageRequest) {
  const referer = c.req.header('referer') ?? ''
  if (!URL.canParse(referer)) return BASE
  const { pathname, searchParams } = new URL(referer)
  searchParams.delete('notice')
  return pathIn(searchParams.size === 0 ? pathname : `${pathname}?${searchParams.toString()}`)
}

/** Returns `to` if it is a path of the console, and the overview otherwise. */
const pathIn = (to: unknown) =>
  typeof to === 'string' && /^\/console(?:[/?][\w\-/?=&%.~:+*]*)?$/.test(to) ? to : BASE
