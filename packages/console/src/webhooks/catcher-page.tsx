import type { Instant } from '@org/agent-messaging-core'
import { Hono } from 'hono'
import type { SignatureCheck } from './catch-webhook.js'
import type { CatcherResponse, CaughtRequest } from './catcher.js'
import type { ConsoleDeps, Env } from '../context.js'
import { show, showError } from '../parts/layout.js'
import { BASE } from '../options.js'
import { JsonView } from '../parts/json-view.js'
import { CopyButton, Empty, Id, refreshed, Status, Time, type Tone } from '../parts/parts.js'
import { need } from '../access/sign-in.js'

const STATUSES = [200, 204, 302, 400, 401, 404, 410, 429, 500, 503]
const DELAYS_MS = [0, 1_000, 5_000, 20_000]
const ATTEMPT_TIMEOUT_MS = 15_000

/** Shows the requests that the catcher received, and changes its response. */
export function catcherRoutes({ service, catcher, publicUrl }: ConsoleDeps) {
  const routes = new Hono<Env>()
  if (!catcher) return routes
  const urlOf = (projectId: string, requestUrl: string): string =>
    `${publicUrl() ?? new URL(requestUrl).origin}${catcher.pathOf(projectId)}`
  return routes
    .use(`${BASE}/catcher/*`, need('project:webhooks'))

    .get(`${BASE}/catcher`, async (c) => {
      const { projectId } = c.get('apiKey')
      const url = urlOf(projectId, c.req.url)
      const webhooks = await service.webhooks.list(projectId, { limit: 100 })
      if (webhooks.isErr()) return showError(c, webhooks.error)
      return show(
        c,
        { title: 'Catcher', section: 'Catcher' },
        <CatcherPage
          url={url}
          isRegistered={webhooks.value.data.some((webhook) => webhook.url === url)}
          requests={catcher.requestsOf(projectId)}
          response={catcher.responseOf(projectId)}
          now={service.now()}
        />,
      )
    })

    .post(`${BASE}/catcher/register`, async (c) => {
      const { projectId } = c.get('apiKey')
      const created = await service.webhooks.create({
        actor: c.get('actor'),
        projectId,
        url: urlOf(projectId, c.req.url),
        events: ['*'],
        description: 'Catcher of the console',
        secret: catcher.secretOf(projectId),
      })
      if (created.isErr()) return showError(c, created.error)
      return c.redirect(`${BASE}/catcher?notice=caught`, 303)
    })

    .post(`${BASE}/catcher/answer`, async (c) => {
      const form = await c.req.parseBody()
      catcher.setResponse(c.get('apiKey').projectId, responseFrom(form))
      return c.redirect(`${BASE}/catcher?notice=answering`, 303)
    })

    .post(`${BASE}/catcher/clear`, (c) => {
      catcher.clear(c.get('apiKey').projectId)
      return c.redirect(`${BASE}/catcher?notice=cleared`, 303)
    })
}

const responseFrom = (form: Readonly<Record<string, unknown>>): CatcherResponse => ({
  status: STATUSES.find((status) => String(status) === form['status']) ?? 200,
  delayMs: DELAYS_MS.find((delayMs) => String(delayMs) === form['delayMs']) ?? 0,
})

type CatcherPageProps = {
  readonly url: string
  readonly isRegistered: boolean
  readonly requests: readonly CaughtRequest[]
  readonly response: CatcherResponse
  readonly now: Instant
}

function CatcherPage({ url, isRegistered, requests, response, now }: CatcherPageProps) {
  return (
    <>
      <h1>Catcher</h1>
      <p class="muted">
        A built-in receiver for tests. The catcher shows each request, checks its signatures, and
        answers with the response that you choose.
      </p>
      <p class="secret">
        <code>{url}</code>
        <CopyButton text={url} what="URL" />
      </p>
      <div class="columns">
        <div {...refreshed('live', 2_000, `${BASE}/catcher`)}>
          {requests.length === 0 ? (
            <NoRequests isRegistered={isRegistered} />
          ) : (
            requests.map((request) => <Caught request={request} now={now} />)
          )}
        </div>
        <section class="card" aria-labelledby="answer">
          <h2 id="answer">Response</h2>
          <ResponseForm response={response} />
          {!isRegistered && requests.length > 0 && <Register />}
          {requests.length > 0 && (
            <form method="post" action={`${BASE}/catcher/clear`}>
              <button>Clear the list</button>
            </form>
          )}
        </section>
      </div>
    </>
  )
}

const Register = () => (
  <form method="post" action={`${BASE}/catcher/register`}>
    <button class="primary">Register as a webhook</button>
  </form>
)

const NoRequests = ({ isRegistered }: { readonly isRegistered: boolean }) => (
  <Empty title="No requests yet">
    {isRegistered ? (
      <p>
        The catcher is registered for every event. <a href={`${BASE}/sessions`}>Send a message</a>{' '}
        to see its answer here.
      </p>
    ) : (
      <>
        <p>Register the catcher for every event of this project:</p>
        <Register />
      </>
    )}
  </Empty>
)

const signatures: Readonly<Record<SignatureCheck, { readonly tone: Tone; readonly text: string }>> =
  {
    valid: { tone: 'good', text: 'signature valid' },
    invalid: { tone: 'bad', text: 'signature invalid' },
    unsigned: { tone: 'idle', text: 'not signed' },
    unchecked: { tone: 'idle', text: 'signature not checked' },
    'too long': { tone: 'bad', text: 'the body exceeds 8 MiB' },
  }

function Caught({
  request: { at, event, deliveryId, signature, status, body },
  now,
}: {
  readonly request: CaughtRequest
  readonly now: Instant
}) {
  const { tone, text } = signatures[signature]
  return (
    <article class="card caught" aria-label={event}>
      <p>
        <code>{event}</code> <Status tone={tone}>{text}</Status>{' '}
        <span class="muted">answered {status}</span> <Time at={at} now={now} />{' '}
        {deliveryId === '' ? null : (
          <Id id={deliveryId} href={`${BASE}/deliveries/${deliveryId}`} />
        )}
      </p>
      <JsonView text={body} what="body" />
    </article>
  )
}

const ResponseForm = ({ response }: { readonly response: CatcherResponse }) => (
  <form method="post" action={`${BASE}/catcher/answer`} class="stack">
    <div>
      <label for="status">Status</label>
      <select id="status" name="status">
        {STATUSES.map((status) => (
          <option value={status} selected={status === response.status}>
            {status}
          </option>
        ))}
      </select>
    </div>
    <div>
      <label for="delayMs">Delay</label>
      <select id="delayMs" name="delayMs">
        {DELAYS_MS.map((delayMs) => (
          <option value={delayMs} selected={delayMs === response.delayMs}>
            {delayText(delayMs)}
          </option>
        ))}
      </select>
    </div>
    <p class="buttons">
      <button>Apply</button>
    </p>
  </form>
)

function delayText(delayMs: number): string {
  if (delayMs === 0) return 'none'
  return `${delayMs / 1_000} s${delayMs > ATTEMPT_TIMEOUT_MS ? ' (an attempt times out)' : ''}`
}
