import type { Agent, Webhook } from '@org/agent-messaging-core'
import type { Context } from 'hono'
import type { Child } from 'hono/jsx'
import { Hono } from 'hono'
import { erasePath, sessionPath } from './conversation.js'
import { textIn } from './form.js'
import { asKnown } from './known-agents.js'
import { show, showProblem } from './layout.js'
import type { ConsoleDeps, Env } from './context.js'
import { BASE } from './options.js'
import { agentIn, idIn, sessionIn } from './paging.js'
import { Problem } from './parts.js'
import { problemStatus, problemText } from './problem.js'
import { need } from './sign-in.js'

/** What cannot be undone is asked for on a page of its own, which says what goes with it: plain forms, for a keyboard and without a script. */
export const deletionRoutes = ({ service }: ConsoleDeps) => {
  const mayManageAgents = need('project:agents')
  const mayManageWebhooks = need('project:webhooks')
  const maySend = need('project:message')
  const agentRefIn = (c: Context<Env>) => ({
    projectId: c.get('apiKey').projectId,
    agent: agentIn(c.req.param('agent') ?? ''),
  })
  const webhookRefIn = (c: Context<Env>) => ({
    projectId: c.get('apiKey').projectId,
    webhookId: idIn(c.req.param('id') ?? ''),
  })
  return new Hono<Env>()
    .get(`${BASE}/agents/:agent/delete`, mayManageAgents, async (c) => {
      const found = await service.agents.get(agentRefIn(c))
      if (found.isErr()) return showProblem(c, problemStatus(found.error), problemText(found.error))
      return agentPage(c, found.value)
    })

    .post(`${BASE}/agents/:agent/delete`, mayManageAgents, async (c) => {
      const form = await c.req.parseBody()
      const ref = agentRefIn(c)
      const found = await service.agents.get(ref)
      if (found.isErr()) return showProblem(c, problemStatus(found.error), problemText(found.error))
      const { name } = found.value
      if (textIn(form, 'name').trim() !== name)
        return agentPage(c, found.value, { problem: `This is not its name, ${name}.` })
      const done = await service.agents.delete({ ...ref, force: textIn(form, 'force') === 'yes' })
      if (done.isOk()) return c.redirect(`${BASE}/agents?notice=agentDeleted`, 303)
      const problem = problemText(done.error)
      return done.error.kind === 'agent_busy'
        ? agentPage(c, found.value, { problem, isBusy: true })
        : showProblem(c, problemStatus(done.error), problem)
    })

    .get(`${BASE}/sessions/:agent/erase`, maySend, async (c) => {
      const found = await service.agents.get(agentRefIn(c))
      if (found.isErr()) return showProblem(c, problemStatus(found.error), problemText(found.error))
      return sessionPage(c, asKnown(c, found.value, c.req.param('agent')), sessionIn(c))
    })

    .post(`${BASE}/sessions/:agent/erase`, maySend, async (c) => {
      const form = await c.req.parseBody()
      const ref = agentRefIn(c)
      const sessionId = sessionIn(c)
      const done = await service.sessions.erase({
        ...ref,
        sessionId,
        force: textIn(form, 'force') === 'yes',
      })
      if (done.isOk())
        return c.redirect(`${BASE}/sessions?agent=${ref.agent}&notice=sessionErased`, 303)
      const problem = problemText(done.error)
      if (done.error.kind !== 'session_busy')
        return showProblem(c, problemStatus(done.error), problem)
      return sessionPage(c, { name: ref.agent }, sessionId, problem)
    })

    .get(`${BASE}/webhooks/:id/delete`, mayManageWebhooks, async (c) => {
      const found = await service.webhooks.get(webhookRefIn(c))
      if (found.isErr()) return showProblem(c, problemStatus(found.error), problemText(found.error))
      return webhookPage(c, found.value)
    })

    .post(`${BASE}/webhooks/:id/delete`, mayManageWebhooks, async (c) => {
      const done = await service.webhooks.delete(webhookRefIn(c))
      if (done.isErr()) return showProblem(c, problemStatus(done.error), problemText(done.error))
      return c.redirect(`${BASE}/webhooks?notice=webhookDeleted`, 303)
    })
}

type Refused = { readonly problem: string; readonly isBusy?: boolean }

const agentPage = (c: Context<Env>, { id, name }: Agent, refused?: Refused) =>
  show(
    c,
    { title: `Delete ${name}`, section: 'Agents', status: refused ? 400 : 200 },
    <form method="post" action={`${BASE}/agents/${id}/delete`} class="narrow card stack">
      <h1>Delete the agent {name}?</h1>
      <p>
        Its sessions and all of their messages go with it, for good. What webhooks were sent of it
        stays on record.
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
      {refused?.isBusy === true && <Force verb="Delete" />}
      <Choice yes="Delete the agent" back={`${BASE}/agents`} />
    </form>,
  )

/** `problem`: messages of it are open. */
const sessionPage = (
  c: Context<Env>,
  { name }: Pick<Agent, 'name'>,
  sessionId: string,
  problem?: string,
) =>
  show(
    c,
    { title: 'Erase a session', section: 'Sessions', status: problem === undefined ? 200 : 400 },
    <form method="post" action={erasePath(name, sessionId)} class="narrow card stack">
      <h1>Erase this session?</h1>
      <p class="url">{sessionId}</p>
      <p>
        Its messages and answers, and what {name} remembers of it, are gone for good. What webhooks
        were sent of it stays on record. A message that is sent later begins it afresh.
      </p>
      <Problem text={problem} />
      {problem !== undefined && <Force verb="Erase" />}
      <Choice yes="Erase the session" back={sessionPath(name, sessionId)} />
    </form>,
  )

const Force = ({ verb }: { readonly verb: string }) => (
  <label class="check">
    <input type="checkbox" name="force" value="yes" required />
    {verb} it all the same: nobody gets an answer to them
  </label>
)

const webhookPage = (c: Context<Env>, { id, url }: Webhook) =>
  show(
    c,
    { title: 'Delete a webhook', section: 'Webhooks' },
    <form method="post" action={`${BASE}/webhooks/${id}/delete`} class="narrow card stack">
      <h1>Delete this webhook?</h1>
      <p class="url">{url}</p>
      <p>
        It is sent nothing more, and what waits for it is cancelled. Its secret is gone for good;
        what it was sent stays on record. To stop for a while, pause it.
      </p>
      <Choice yes="Delete the webhook" back={`${BASE}/webhooks/${id}`} />
    </form>,
  )

const Choice = ({ yes, back }: { readonly yes: Child; readonly back: string }) => (
  <p class="buttons">
    <button class="danger">{yes}</button>
    <a class="button" href={back}>
      Keep it
    </a>
  </p>
)
