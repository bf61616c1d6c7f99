import type { ServiceError } from '@org/agent-messaging-core'
import { errorIn, permissionsFor, type CallName } from '@org/agent-messaging-core/host'
import type { MiddlewareHandler } from 'hono'
import { getCookie } from 'hono/cookie'
import { html } from 'hono/html'
import type { Child } from 'hono/jsx'
import { assets } from '../assets.js'
import { noticeText, problemStatus, problemText } from './texts.js'
import { type Env, type PageRequest, BASE } from '../context.js'
import { can } from './input.js'
import { CopyButton, type Count, Unfold } from './parts.js'
import { QuestionCount } from '../messages/open-questions.js'
import { isPortalPath, isPortalRequest, ReturnLink } from '../access/portal-pages.js'
import { ViewContext, viewOf } from './zone.js'

export type Page = {
  readonly title: string
  /** The section of the navigation that contains the page. */
  readonly section?: string
  /** What the page shows of the section. Its link leads back to the section. */
  readonly crumb?: Child
  /** Makes the status 400 by default. */
  readonly problem?: string | undefined
  readonly status?: 200 | 400 | 401 | 403 | 404 | 409 | 413 | 500 | 503
}

type Section = { readonly name: string; readonly path: string; readonly needs?: CallName }

const QUESTIONS = `${BASE}/questions`
const SECTIONS: readonly Section[] = [
  { name: 'Overview', path: BASE },
  { name: 'Failures', path: `${BASE}/failures` },
  { name: 'Agents', path: `${BASE}/agents`, needs: 'agents.list' },
  { name: 'Conversations', path: `${BASE}/conversations`, needs: 'messages.list' },
  { name: 'Questions', path: QUESTIONS, needs: 'inputs.list' },
  { name: 'Webhooks', path: `${BASE}/webhooks`, needs: 'webhooks.list' },
  { name: 'Events', path: `${BASE}/events`, needs: 'events.list' },
  { name: 'Deliveries', path: `${BASE}/deliveries`, needs: 'deliveries.list' },
  { name: 'Usage', path: `${BASE}/usage`, needs: 'stats' },
]

/** Returns the sections that the session can open. */
function sectionsFor(c: PageRequest): readonly Section[] {
  const portal = c.get('portal')
  return SECTIONS.filter(
    ({ path, needs }) =>
      (needs === undefined || can(c, needs)) && (!portal || isPortalPath(path, portal.permissions)),
  )
}

/** Limits htmx to the content security policy: only this server, no evaluation, no styles. */
const HTMX = JSON.stringify({
  allowEval: false,
  includeIndicatorStyles: false,
  selfRequestsOnly: true,
  historyCacheSize: 0,
})

/** Answers with a whole page. */
export async function show(
  c: PageRequest,
  { title, section, crumb, problem, status = problem === undefined ? 200 : 400 }: Page,
  children: Child,
) {
  const theme = getCookie(c, 'agent_messaging_theme')
  const view = viewOf(c)
  const style = isPortalRequest(c) ? c.get('look').styleUrl : undefined
  const projectId = (c.get('apiKey') as Env['Variables']['apiKey'] | undefined)?.projectId
  // htmx takes only a part of the page, without the navigation.
  const isPart = c.req.header('hx-request') !== undefined
  const open = isPart || !projectId ? undefined : await c.get('openQuestions')?.()
  const page = (
    <html
      lang="en"
      data-theme={theme === 'light' || theme === 'dark' ? theme : 'auto'}
      data-zone={view.zone}
      data-method={c.req.method}
      data-project={projectId}
    >
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="htmx-config" content={HTMX} />
        <title>{`${title} · ${nameOf(c)}`}</title>
        <link rel="icon" href={assets.urls['icon.svg']} type="image/svg+xml" />
        <link rel="stylesheet" href={assets.urls['console.css']} />
        {style === undefined ? null : <link rel="stylesheet" href={style} />}
        <script src={assets.urls['htmx.js']} defer />
        <script src={assets.urls['console.js']} defer />
      </head>
      <body hx-headers={projectId && JSON.stringify({ 'X-Shown-Project': projectId })}>
        <a class="skip" href="#main">
          Skip to content
        </a>
        <Header c={c} section={section} theme={theme} open={open} />
        <main id="main" tabindex={-1}>
          <Notice text={noticeText(c.req.query('notice'))} />
          {crumb !== undefined && (
            <p class="crumbs">
              <a href={SECTIONS.find(({ name }) => name === section)?.path}>{section}</a> / {crumb}
            </p>
          )}
          <ViewContext.Provider value={view}>{children}</ViewContext.Provider>
        </main>
      </body>
    </html>
  )
  return c.html(html`<!doctype html>${page}`, status)
}

/** The name at the top of the page. */
const nameOf = (c: PageRequest) =>
  (isPortalRequest(c) ? c.get('look').name : undefined) ?? 'Agent Messaging'

export const showProblem = (c: PageRequest, status: NonNullable<Page['status']>, text: string) =>
  show(
    c,
    { title: text, status },
    <div class="empty">
      <h1>{text}</h1>
      <p>
        <a href={BASE}>{c.get('portal') ? 'Go to the first page' : 'Go to the overview'}</a>
      </p>
    </div>,
  )

/** Accepts requests of sessions that can make this call, as the API does. */
export const need =
  (call: CallName): MiddlewareHandler<Env> =>
  (c, next) =>
    can(c, call)
      ? next()
      : showProblem(
          c,
          403,
          c.get('portal')
            ? 'You can only read here'
            : `Your API key lacks the permission ${permissionsFor(call).join(' or ')}`,
        )

/** Shows the error of a use case as a page. */
export const showError = (c: PageRequest, error: ServiceError) =>
  showProblem(c, problemStatus(error), problemText(error))

/** Shows a page of the console after an action. `refused` can show another page for an error. */
export async function showDone(
  c: PageRequest,
  done: Promise<unknown>,
  path: string | (() => Promise<string>),
  refused: (error: ServiceError) => Promise<Response> | false,
) {
  return done.then(
    async () => goTo(c, typeof path === 'string' ? path : await path()),
    (thrown) => {
      const page = refused(errorIn(thrown))
      if (page) return page
      throw thrown
    },
  )
}

/** Redirects to a page of the console. */
export const goTo = (c: PageRequest, path: string) => c.redirect(BASE + path, 303)

type Secret = Page & {
  /** The page behind this one. A reload shows it. */
  readonly path: string
  readonly secret: string
  readonly what: string
}

/** Shows a new secret. No other page shows secrets. */
export const secretPage = (
  c: PageRequest,
  { path, secret, what, ...page }: Secret,
  explanation: Child,
  actions: Child,
) =>
  show(
    c,
    page,
    <div class="narrow card" data-address={path}>
      <h1>{page.title}</h1>
      {explanation}
      <p class="secret">
        <code id="secret">{secret}</code>
        <CopyButton text={secret} what={what} />
      </p>
      {actions}
    </div>,
  )

const Notice = ({ text }: { readonly text: string | undefined }) =>
  text === undefined ? null : (
    <p class="notice" role="status">
      {text}
    </p>
  )

/** The script puts the focus here when a reader presses the slash key. */
const SearchField = ({ text = '' }: { readonly text: string | undefined }) => (
  <form method="get" action={`${BASE}/search`} role="search" class="search">
    <input
      type="search"
      name="q"
      value={text}
      maxlength={2_000}
      placeholder="Search /"
      aria-label="Search"
      aria-keyshortcuts="/"
      autocomplete="off"
      spellcheck={false}
    />
  </form>
)

/** Names the project of the session. An operator can open the page of the project. */
function ProjectName({ c }: { readonly c: PageRequest }) {
  const name = c.get('projectName')
  return c.get('portal') ? (
    <span class="customer" title={`You act for ${name}`}>
      For <bdi>{name}</bdi>
    </span>
  ) : (
    <a class="key" href={`${BASE}/project`} title={`Project ${c.get('apiKey').projectId}`}>
      {name}
    </a>
  )
}

function Header({
  c,
  section,
  theme,
  open,
}: {
  readonly c: PageRequest
  readonly section: string | undefined
  readonly theme: string | undefined
  readonly open: Count | undefined
}) {
  const apiKey = c.get('apiKey') as Env['Variables']['apiKey'] | undefined
  const portal = c.get('portal')
  const isPortal = isPortalRequest(c)
  const look = c.get('look')
  const { pathname, search } = new URL(c.req.url)
  const next = theme === 'dark' ? 'light' : theme === 'light' ? 'auto' : 'dark'
  return (
    <header class="top">
      <a class="brand" href={BASE}>
        {isPortal && look.logoUrl ? (
          <img src={look.logoUrl} alt="" height={20} />
        ) : (
          <svg viewBox="0 0 24 24" width="20" height="20" aria-hidden="true">
            <path d="M3 5.5A2.5 2.5 0 0 1 5.5 3h13A2.5 2.5 0 0 1 21 5.5v8a2.5 2.5 0 0 1-2.5 2.5H11l-5 5v-5h-.5A2.5 2.5 0 0 1 3 13.5z" />
          </svg>
        )}
        <span>{nameOf(c)}</span>
      </a>
      <Unfold id="menu">
        Menu
        <QuestionCount open={open} />
      </Unfold>
      <div id="menu" popover="auto" class="fold">
        {apiKey && (
          <nav aria-label="Main">
            {sectionsFor(c).map(({ name, path }) => (
              <a href={path} aria-current={name === section ? 'page' : undefined}>
                {name}
                {path === QUESTIONS && <QuestionCount open={open} />}
              </a>
            ))}
          </nav>
        )}
        {apiKey && (
          <SearchField text={pathname === `${BASE}/search` ? c.req.query('q') : undefined} />
        )}
        <div class="session">
          {apiKey && portal?.returnUrl !== undefined && <ReturnLink to={portal.returnUrl} />}
          {apiKey && <ProjectName c={c} />}
          {c.get('isOperator') && <a href={`${BASE}/projects`}>Projects</a>}
          <form method="post" action={`${BASE}/theme`}>
            <input
              type="hidden"
              name="to"
              value={c.req.method === 'GET' ? pathname + search : BASE}
            />
            <button
              class="quiet"
              name="theme"
              value={next}
              title={`Theme: ${theme ?? 'auto'}. Switch to ${next}`}
              aria-label={`Switch to ${next} theme`}
            >
              <svg viewBox="0 0 24 24" width="16" height="16" aria-hidden="true">
                <path d="M12 3a9 9 0 0 1 0 18z" class="half" />
                <circle cx="12" cy="12" r="9" />
              </svg>
            </button>
          </form>
          {(apiKey ?? c.get('isOperator')) && (
            <form method="post" action={`${BASE}/sign-out`}>
              <button class="quiet">{portal ? 'Leave' : 'Sign out'}</button>
            </form>
          )}
        </div>
      </div>
    </header>
  )
}
