import type { SignatureCheck } from './catch-webhook.js'
import type { CatcherResponse, CaughtRequest } from './catcher.js'
import { type ConsoleDeps, newRoutes, BASE } from '../context.js'
import { DeliveryLink } from '../deliveries/delivery-table.js'
import { Fields } from '../parts/fields.js'
import { can, type Form, projectIn } from '../parts/input.js'
import { goTo, show, need } from '../parts/layout.js'
import { JsonView } from '../parts/json-view.js'
import { CopyButton, type Label, Post, Status, Time, Card } from '../parts/parts.js'
import { Empty, Live } from '../parts/table.js'
import { sessionsPath } from '../messages/message-table.js'
import { useView } from '../parts/zone.js'

const STATUSES = [200, 204, 302, 400, 401, 404, 410, 429, 500, 503]
const DELAYS_MS = [0, 1_000, 5_000, 20_000]
const ATTEMPT_TIMEOUT_MS = 15_000

/** Shows the requests that the catcher received, and changes its response. */
export function catcherRoutes({ service, catcher, publicUrl }: ConsoleDeps) {
  const routes = newRoutes()
  if (!catcher) return routes
  const urlOf = (projectId: string, requestUrl: string) =>
    `${publicUrl() ?? new URL(requestUrl).origin}${catcher.pathOf(projectId)}`
  const mayRegister = need('webhooks.create')
  return routes
    .get('/catcher', need('webhooks.list'), async (c) => {
      const projectId = projectIn(c)
      const url = urlOf(projectId, c.req.url)
      const { data } = await service.webhooks.list({ projectId, limit: 100 })
      return show(
        c,
        { title: 'Catcher', section: 'Webhooks', crumb: 'catcher' },
        <CatcherPage
          url={url}
          isRegistered={data.some((webhook) => webhook.url === url)}
          requests={catcher.requestsOf(projectId)}
          response={catcher.responseOf(projectId)}
        />,
      )
    })

    .post('/catcher/register', mayRegister, async (c) => {
      const projectId = projectIn(c)
      await service.webhooks.create({
        actor: c.get('actor'),
        projectId,
        url: urlOf(projectId, c.req.url),
        events: ['*'],
        description: 'Catcher of the console',
        secret: catcher.secretOf(projectId),
      })
      return goTo(c, '/catcher?notice=caught')
    })

    .post('/catcher/answer', mayRegister, async (c) => {
      catcher.setResponse(projectIn(c), responseFrom(await c.req.parseBody()))
      return goTo(c, '/catcher?notice=answering')
    })

    .post('/catcher/clear', mayRegister, (c) => {
      catcher.clear(projectIn(c))
      return goTo(c, '/catcher?notice=cleared')
    })
}

const responseFrom = (form: Form): CatcherResponse => ({
  status: STATUSES.find((status) => String(status) === form['status']) ?? 200,
  delayMs: DELAYS_MS.find((delayMs) => String(delayMs) === form['delayMs']) ?? 0,
})

type CatcherPageProps = {
  readonly url: string
  readonly isRegistered: boolean
  readonly requests: readonly CaughtRequest[]
  readonly response: CatcherResponse
}

function CatcherPage({ url, isRegistered, requests, response }: CatcherPageProps) {
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
        <Live every={2_000}>
          {requests.length === 0 ? (
            <NoRequests isRegistered={isRegistered} />
          ) : (
            requests.map((request) => <Caught {...request} />)
          )}
        </Live>
        {can(useView().c, 'webhooks.create') && (
          <Card id="answer" title="Response">
            <ResponseForm response={response} />
            {!isRegistered && requests.length > 0 && <Register />}
            {requests.length > 0 && (
              <Post call="webhooks.create" to="/catcher/clear">
                Clear the list
              </Post>
            )}
          </Card>
        )}
      </div>
    </>
  )
}

const Register = () => (
  <Post call="webhooks.create" to="/catcher/register" class="primary">
    Register as a webhook
  </Post>
)

const NoRequests = ({ isRegistered }: { readonly isRegistered: boolean }) => (
  <Empty title="No requests yet">
    {isRegistered ? (
      <p>
        The catcher is registered for every event. <a href={sessionsPath()}>Send a message</a> to
        see its answer here.
      </p>
    ) : (
      can(useView().c, 'webhooks.create') && (
        <>
          <p>Register the catcher for every event of this project:</p>
          <Register />
        </>
      )
    )}
  </Empty>
)

const signatures: Readonly<Record<SignatureCheck, Label>> = {
  valid: { tone: 'good', text: 'signature valid' },
  invalid: { tone: 'bad', text: 'signature invalid' },
  unsigned: { tone: 'idle', text: 'not signed' },
  unchecked: { tone: 'idle', text: 'signature not checked' },
  'too long': { tone: 'bad', text: 'the body exceeds 8 MiB' },
}

const Caught = ({ at, event, deliveryId, signature, status, body }: CaughtRequest) => (
  <article class="card caught" aria-label={event}>
    <p>
      <code>{event}</code> <Status {...signatures[signature]} />{' '}
      <span class="muted">answered {status}</span> <Time at={at} />{' '}
      {deliveryId === '' ? null : <DeliveryLink id={deliveryId} />}
    </p>
    <JsonView text={body} what="body" />
  </article>
)

const ResponseForm = ({ response }: { readonly response: CatcherResponse }) => (
  <form method="post" action={`${BASE}/catcher/answer`} class="stack">
    <Fields
      fields={{
        status: { label: 'Status', choices: STATUSES },
        delayMs: { label: 'Delay', choices: DELAYS_MS.map((ms) => [ms, delayText(ms)] as const) },
      }}
      values={response}
    />
    <p class="buttons">
      <button>Apply</button>
    </p>
  </form>
)

function delayText(delayMs: number) {
  if (delayMs === 0) return 'none'
  return `${delayMs / 1_000} s${delayMs > ATTEMPT_TIMEOUT_MS ? ' (an attempt times out)' : ''}`
}
