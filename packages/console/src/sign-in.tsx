import type { Permission } from '@org/agent-messaging-core'
import type { Context, MiddlewareHandler } from 'hono'
import { Hono } from 'hono'
import { setCookie } from 'hono/cookie'
import { textIn } from './form.js'
import { show, showProblem } from './layout.js'
import type { ConsoleDeps, Env } from './context.js'
import { BASE } from './options.js'
import { problemText } from './problem.js'
import { beginSession, endSession, forgetSession, keyOfSession } from './session.js'

const THEMES = ['auto', 'light', 'dark']
const A_YEAR_S = 31_536_000
const HALF_OUT =
  'You are signed out in this browser. The storage could not be reached, so a copy of the cookie, if there is one, is good until it ends by itself.'

const LINK_IS_OVER =
  'This link was used before, or is too old. Sign in with an API key, or restart the server for a new link.'

/** Signing in and out, and what needs no session. */
export const signInRoutes = (d: ConsoleDeps) =>
  new Hono<Env>()
    .get(`${BASE}/sign-in`, (c) => signInPage(c, { to: c.req.query('to') }))

    .post(`${BASE}/sign-in`, async (c) => {
      const form = await c.req.parseBody()
      const key = textIn(form, 'key').trim()
      const found = await d.service.keys.authenticate(key)
      if (found.isErr()) {
        const isWrong = found.error.kind === 'unauthorized'
        const problem = isWrong ? 'This is not a valid API key.' : problemText(found.error)
        return signInPage(c, { to: form['to'], problem, status: isWrong ? 401 : 503 })
      }
      beginSession(c, d, key)
      return c.redirect(pathIn(form['to']), 303)
    })

    .get(`${BASE}/enter`, async (c) => {
      const key = d.links.use(c.req.query('code') ?? '')
      if (key !== undefined) beginSession(c, d, key)
      // Who opens the link again, in a browser that it has signed in, is where it leads to already.
      else if ((await keyOfSession(c, d)).isErr())
        return signInPage(c, { problem: LINK_IS_OVER, status: 401 })
      return c.redirect(BASE, 303)
    })

    .post(`${BASE}/sign-out`, async (c) => {
      const ended = await endSession(c, d)
      return ended.isOk()
        ? c.redirect(`${BASE}/sign-in`, 303)
        : signInPage(c, { problem: HALF_OUT, status: 503 })
    })

    .post(`${BASE}/theme`, async (c) => {
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

/** Lets through who is signed in, and takes everybody else there. */
export const requireSession =
  (d: ConsoleDeps): MiddlewareHandler<Env> =>
  async (c, next) => {
    const found = await keyOfSession(c, d)
    if (found.isOk()) {
      c.set('apiKey', found.value)
      return next()
    }
    if (found.error.kind === 'unavailable') return showProblem(c, 503, problemText(found.error))
    forgetSession(c, d)
    const isForm = c.req.method !== 'GET'
    const signIn = `${BASE}/sign-in?${isForm ? 'notice=undone&' : ''}to=${encodeURIComponent(isForm ? pathBefore(c) : pathOf(c))}`
    // What htmx asked for is a part of a page: it has to leave the page as a whole.
    if (c.req.header('hx-request') !== undefined)
      return c.body(null, 200, { 'HX-Redirect': signIn })
    return c.redirect(signIn, 303)
  }

/** Lets through whose API key has exactly this permission, as the API does. */
export const need =
  (permission: Permission): MiddlewareHandler<Env> =>
  (c, next) =>
    c.get('apiKey').permissions.includes(permission)
      ? next()
      : Promise.resolve(
          showProblem(
            c,
            403,
            `The API key that you are signed in with lacks the permission ${permission}`,
          ),
        )

type SignInPage = { readonly to?: unknown; readonly problem?: string; readonly status?: 401 | 503 }

function signInPage(c: Context<Env>, { to, problem, status }: SignInPage) {
  return show(
    c,
    { title: 'Sign in', ...(status && { status }) },
    <form class="sign-in card" method="post" action={`${BASE}/sign-in`}>
      <h1>Sign in</h1>
      <p class="muted">
        With an API key of your project. Its permissions decide what you can see and do here;
        revoking it ends the session.
      </p>
      {problem === undefined ? null : (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      <label for="key">API key</label>
      <input
        id="key"
        name="key"
        type="password"
        required
        autocomplete="off"
        spellcheck={false}
        placeholder="amk_…"
        autofocus
      />
      <input type="hidden" name="to" value={pathIn(to)} />
      <button class="primary">Sign in</button>
      <p class="muted small">
        No key at hand? <code>npm start</code> prints one, and a link that signs in once; elsewhere{' '}
        <code>agent-messaging keys create</code> makes one.
      </p>
    </form>,
  )
}

const pathOf = (c: Context<Env>): string => {
  const { pathname, search } = new URL(c.req.url)
  return pathname + search
}

/** Of the page with the form, as the browser tells it. */
function pathBefore(c: Context<Env>): string {
  const referer = c.req.header('referer') ?? ''
  if (!URL.canParse(referer)) return BASE
  const { pathname, searchParams } = new URL(referer)
  searchParams.delete('notice')
  return pathIn(searchParams.size === 0 ? pathname : `${pathname}?${searchParams.toString()}`)
}

/** Where to go on: a path of the console, and nowhere else. */
const pathIn = (to: unknown): string =>
  typeof to === 'string' && /^\/console(?:[/?][\w\-/?=&%.~:+*]*)?$/.test(to) ? to : BASE
