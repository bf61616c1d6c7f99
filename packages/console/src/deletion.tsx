import type { Agent, MessagingService } from '@org/agent-messaging-core'
import type { Context } from 'hono'
import { Hono } from 'hono'
import { ok, safeTry } from 'neverthrow'
import { Choice } from './confirm.js'
import type { ConsoleDeps, Env } from './context.js'
import { erasePath, sessionPath } from './messages/conversation.js'
import { countText, type Count } from './parts/count.js'
import { agentRef, sessionIn, textIn, webhookRef, byActor } from './parts/input.js'
import { withKnownName } from './known-agents.js'
import { show, showError } from './parts/layout.js'
import { BASE } from './options.js'
import { Problem } from './parts/parts.js'
import { problemText } from './parts/problem.js'
import { need } from './access/sign-in.js'

/**
 * Asks for confirmation on a page that lists the consequences, before an action that cannot be
 * undone. The pages use plain forms, for keyboards and without scripts.
 */
export const deletionRoutes = ({ service }: ConsoleDeps) => {
  const mayManageAgents = need('project:agents')
  const mayManageWebhooks = need('project:webhooks')
  const maySend = need('project:message')
  return new Hono<Env>()
    .get(`${BASE}/agents/:agent/delete`, mayManageAgents, async (c) => {
      const found = await agentWithSessions(service, agentRef(c))
      return found.isErr() ? showError(c, found.error) : agentPage(c, found.value)
    })

    .post(`${BASE}/agents/:agent/delete`, mayManageAgents, async (c) => {
      const form = await c.req.parseBody()
      const ref = agentRef(c)
      const found = await agentWithSessions(service, ref)
      if (found.isErr()) return showError(c, found.error)
      const { name } = found.value.agent
      if (textIn(form, 'name').trim() !== name)
        return agentPage(c, found.value, { problem: `The name does not match. Type ${name}.` })
      const done = await service.agents.delete({
        ...byActor(c, ref),
        force: textIn(form, 'force') === 'yes',
      })
      if (done.isOk()) return c.redirect(`${BASE}/agents?notice=agentDeleted`, 303)
      return done.error.kind === 'agent_busy'
        ? agentPage(c, found.value, { problem: problemText(done.error), isBusy: true })
        : showError(c, done.error)
    })

    .get(`${BASE}/sessions/:agent/erase`, maySend, async (c) => {
      const found = await service.agents.get(agentRef(c))
      if (found.isErr()) return showError(c, found.error)
      return sessionPage(c, withKnownName(c, found.value, c.req.param('agent')), sessionIn(c))
    })

    .post(`${BASE}/sessions/:agent/erase`, maySend, async (c) => {
      const form = await c.req.parseBody()
      const ref = agentRef(c)
      const sessionId = sessionIn(c)
      const force = textIn(form, 'force') === 'yes'
      const done = await service.sessions.erase(byActor(c, { ...ref, sessionId, force }))
      if (done.isOk())
        return c.redirect(`${BASE}/sessions?agent=${ref.agent}&notice=sessionErased`, 303)
      return done.error.kind === 'session_busy'
        ? sessionPage(c, { name: ref.agent }, sessionId, problemText(done.error))
        : showError(c, done.error)
    })

    .post(`${BASE}/webhooks/:id/delete`, mayManageWebhooks, async (c) => {
      const done = await service.webhooks.delete(byActor(c, webhookRef(c)))
      if (done.isErr()) return showError(c, done.error)
      return c.redirect(`${BASE}/webhooks?notice=webhookDeleted`, 303)
    })
}

const MAX_SESSIONS = 100

const agentWithSessions = (service: MessagingService, ref: { projectId: string; agent: string }) =>
  safeTry(async function* () {
    const agent = yield* service.agents.get(ref)
    const { data, nextCursor } = yield* service.sessions.list({
      projectId: ref.projectId,
      agent: agent.id,
      page: { limit: MAX_SESSIONS },
    })
    return ok({ agent, sessions: { count: data.length, isAll: nextCursor === null } })
  })

type Doomed = { readonly agent: Agent; readonly sessions: Count }
type Refused = { readonly problem: string; readonly isBusy?: boolean }

const agentPage = (c: Context<Env>, { agent: { id, name }, sessions }: Doomed, refused?: Refused) =>
  show(
    c,
    { title: `Delete ${name}`, section: 'Agents', status: refused ? 400 : 200 },
    <form method="post" action={`${BASE}/agents/${id}/delete`} class="narrow card stack">
      <h1>Delete agent {name}?</h1>
      <p>
        This also deletes {countText(sessions, 'session', 'sessions')} and all of their messages.
        You cannot undo this. Its webhook deliveries stay on record. Receivers get no more events of
        this agent.
      </p>
      <Problem text={refused?.problem} />
      <div>
        <label for="name">
          Type <code>{name}</code> to confirm
        </label>
        <input
          id="name"
          name="name"
          value={refused?.isBusy === true ? name : ''}
          required
          autocomplete="off"
          spellcheck={false}
          autofocus
        />
      </div>
      {refused?.isBusy === true && <Force action="Delete" />}
      <Choice action="Delete agent" back={`${BASE}/agents`} />
    </form>,
  )

/** `problem` is set if messages of the session are open. */
const sessionPage = (
  c: Context<Env>,
  { name }: Pick<Agent, 'name'>,
  sessionId: string,
  problem?: string,
) =>
  show(
    c,
    { title: 'Erase session', section: 'Sessions', status: problem === undefined ? 200 : 400 },
    <form method="post" action={erasePath(name, sessionId)} class="narrow card stack">
      <h1>Erase this session?</h1>
      <p class="url">{sessionId}</p>
      <p>
        This deletes its messages, its answers and the memory of {name} about this session. You
        cannot undo this. Its webhook deliveries stay on record. A later message starts a new
        session with this name.
      </p>
      <Problem text={problem} />
      {problem !== undefined && <Force action="Erase" />}
      <Choice action="Erase session" back={sessionPath(name, sessionId)} />
    </form>,
  )

const Force = ({ action }: { readonly action: string }) => (
  <label class="check">
    <input type="checkbox" name="force" value="yes" required />
    {action} anyway: these messages will get no answer
  </label>
)
