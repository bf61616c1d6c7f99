// An agent built on the protocol's public SDK. The first word of a prompt selects its behaviour.
import { randomUUID } from 'node:crypto'
import { readFileSync, writeFileSync, writeSync } from 'node:fs'
import { Readable, Writable } from 'node:stream'
import { agent, methods, ndJsonStream, RequestError } from '@agentclientprotocol/sdk'

const options = process.argv.slice(2)
const has = (name) => options.includes(name)
const store = options.find((option) => option.startsWith('--store='))?.slice('--store='.length)

/** The prompts of each session. */
const sessions = new Map()
const stored = () => JSON.parse(readFileSync(store, 'utf8'))
const waiting = new Map()
let isLoggedIn = false
let endDeafTurn = () => undefined

const textUpdate = (sessionId, text) => ({
  sessionId,
  update: { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } },
})
const raw = (...messages) =>
  process.stdout.write(
    messages.map((message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`).join(''),
  )
const rawUpdate = (params) => ({ method: 'session/update', params })

const permissionOptions = {
  once: ['allow_once', 'allow_always', 'reject_once', 'reject_always'],
  always: ['allow_always', 'reject_always'],
  yes: ['allow_once'],
}

/** Each returns a stop reason. The default is `end_turn`. */
const behaviours = {
  pid: ({ say }) => say(String(process.pid)),
  cwd: ({ say, session }) => say(session.cwd),
  prompt: ({ say, params }) => say(JSON.stringify({ ...params, sessionId: undefined })),
  turns: ({ say, session }) => say(session.prompts.join('|')),
  async tool({ say, tell }) {
    await say('Let me look.')
    await tell({ sessionUpdate: 'tool_call', toolCallId: 'call-1', title: 'Look', kind: 'read' })
    await say('It is a')
    await say(' cat.')
  },
  async permission({ say, tell, client, params }, offer, kind) {
    // Only the tool call has the kind. The permission request refers to the call.
    await tell({ sessionUpdate: 'tool_call', toolCallId: 'call-2', title: 'Do it', kind })
    const { outcome } = await client.request(methods.client.session.requestPermission, {
      sessionId: params.sessionId,
      toolCall: { toolCallId: 'call-2' },
      options: permissionOptions[offer].map((option) => ({
        optionId: `id of ${option}`,
        name: option,
        kind: option,
      })),
    })
    await say(outcome.optionId ?? outcome.outcome)
  },
  /** Requests a permission for each title, those joined by `+` at once, and says the outcomes. */
  async approve({ say, client, session, params: { sessionId } }, ...groups) {
    await say('Before.')
    const ask = (title) =>
      client.request(methods.client.session.requestPermission, {
        sessionId,
        toolCall: { toolCallId: randomUUID(), title, kind: 'execute', rawInput: { run: title } },
        options: [
          { optionId: 'id of once', name: 'Once', kind: 'allow_once' },
          { optionId: 'id of always', name: 'Always', kind: 'allow_always' },
          { optionId: 'id of no', name: 'No', kind: 'reject_once' },
        ],
      })
    for (const group of groups) {
      for (const { outcome } of await Promise.all(group.split('+').map(ask))) {
        if (outcome.outcome === 'cancelled') return void session.prompts.push('cancelled')
        await say(` ${outcome.optionId}.`)
      }
    }
  },
  /** Reports a plan before it asks. */
  async planned(turn, ...groups) {
    const entries = [{ content: 'ask', priority: 'high', status: 'in_progress' }]
    await turn.tell({ sessionUpdate: 'plan', entries })
    await behaviours.approve(turn, ...groups)
  },
  /** Sends these updates, valid or not. */
  async report({ say, tell }, ...json) {
    for (const update of JSON.parse(json.join(' '))) await tell(update)
    await say('done')
  },
  async noise({ say, tell, params: { sessionId } }) {
    await tell({ sessionUpdate: 'agent_thought_chunk', content: { type: 'text', text: 'thought' } })
    await tell({
      sessionUpdate: 'plan',
      entries: [{ content: 'plan', priority: 'high', status: 'pending' }],
    })
    await tell({
      sessionUpdate: 'agent_message_chunk',
      content: { type: 'image', data: 'AAAA', mimeType: 'image/png' },
    })
    process.stdout.write(
      'Debugger attached.\n{"jsonrpc":"2.0","method":"session/upd\n[]\n7\nnull\n{}\n\n',
    )
    raw(
      rawUpdate({ sessionId, update: { sessionUpdate: 'of_next_year', text: 'unknown' } }),
      rawUpdate({
        sessionId,
        update: { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: 7 } },
      }),
      rawUpdate(textUpdate('an unknown session', 'other text')),
      rawUpdate('no update'),
      { id: 4711, result: { stopReason: 'end_turn' } },
      { id: null, error: { code: -32603, message: 'what?' } },
      { method: '_of/theirs', params: {} },
    )
    await say('heard')
  },
  /** Prints without reading its input, like a single-threaded program. */
  async babble({ say }, lines) {
    for (let line = 0; line < Number(lines);) {
      try {
        writeSync(1, '{ a private log line\n')
        line++
      } catch (error) {
        if (error.code !== 'EAGAIN') throw error
      }
    }
    await say('done')
  },
  async asks({ say, client }, method) {
    await say(await client.request(method, {}).then(String, ({ code }) => `refused with ${code}`))
  },
  /** Sends all in one write. The SDK then sends a second response. */
  burst({ params: { sessionId }, requestId }, count) {
    const updates = Array.from({ length: Number(count) }, (_, index) =>
      rawUpdate(textUpdate(sessionId, `${index} `)),
    )
    raw(...updates, { id: requestId, result: { stopReason: 'end_turn' } })
    return 'refusal'
  },
  async flood({ say, isCancelled }) {
    while (!isCancelled()) await say('x'.repeat(1_000))
    return 'cancelled'
  },
  /** Reports a tool call whose input is nested this deeply. */
  async deep({ say, params: { sessionId } }, depth) {
    const input = '['.repeat(depth) + ']'.repeat(depth)
    const update = `{"sessionUpdate":"tool_call","toolCallId":"c1","rawInput":${input}}`
    const params = `{"sessionId":"${sessionId}","update":${update}}`
    const line = `{"method":"session/update","params":${params}}\n`
    await new Promise((resolve) => process.stdout.write(line, resolve))
    await say('done')
  },
  huge: ({ say }, length) => say('y'.repeat(Number(length))),
  async hugeRequest({ say, client, params: { sessionId } }, length) {
    const file = { sessionId, path: '/file', content: 'y'.repeat(Number(length)) }
    await client.request('fs/write_text_file', file).catch(({ code }) => say(`refused: ${code}`))
  },
  hugeResponse: (_, length) => 'y'.repeat(Number(length)),
  async hugeLine({ say }, length) {
    const line = `${'y'.repeat(Number(length))}\n`
    await new Promise((resolve) => process.stdout.write(line, resolve))
    await say('done')
  },
  async hugeUnknown({ cancelled }, length) {
    raw({ method: '_of/theirs', params: { text: 'y'.repeat(Number(length)) } })
    await cancelled
  },
  async wait({ say, cancelled }) {
    await say('waiting')
    await cancelled
    return 'cancelled'
  },
  /** Ignores the cancel and continues at the next prompt in any session. */
  async deaf({ say }) {
    await say('deaf')
    await new Promise((resolve) => (endDeafTurn = resolve))
    await say('late')
  },
  async leave({ say }, code) {
    await say('before I go')
    process.stderr.write('out of memory, sort of\n')
    process.exit(Number(code))
  },
  /** Asks for permission after the cancel, and adds the outcome to its prompts. */
  async nag({ say, cancelled, client, params: { sessionId } }) {
    await say('waiting')
    await cancelled
    const options = [{ optionId: 'yes', name: 'yes', kind: 'allow_once' }]
    const { outcome } = await client.request(methods.client.session.requestPermission, {
      sessionId,
      toolCall: { toolCallId: 'call-3' },
      options,
    })
    sessions.get(sessionId).prompts.push(outcome.outcome)
    return 'cancelled'
  },
  evict({ params: { sessionId } }) {
    sessions.delete(sessionId)
    throw RequestError.sessionNotFound(sessionId)
  },
  crash: () => process.kill(process.pid, 'SIGSEGV'),
  async stop({ say }, reason, ...words) {
    if (words.length > 0) await say(words.join(' '))
    return reason
  },
  throw() {
    throw new Error('no model at home')
  },
  invalid() {
    throw RequestError.invalidParams(undefined, 'no such slash command')
  },
}

const echo = ({ say }, ...words) => say(`You said: ${words.join(' ')}`)

agent({ name: 'test agent' })
  .onRequest(methods.agent.initialize, ({ params }) => ({
    protocolVersion: params.protocolVersion,
    agentCapabilities: {
      loadSession: has('--load'),
      ...(has('--resume') && { sessionCapabilities: { resume: {} } }),
    },
    authMethods: has('--login')
      ? ['browser', 'api-key'].map((id) => ({ id, name: `Log in: ${id}` }))
      : [],
  }))
  .onRequest(methods.agent.authenticate, ({ params: { methodId } }) => {
    if (methodId !== 'api-key') throw RequestError.invalidParams(undefined, 'no browser here')
    isLoggedIn = true
  })
  .onRequest(methods.agent.session.new, ({ params: { cwd } }) => {
    if (has('--login') && !isLoggedIn) throw RequestError.authRequired()
    if (has('--slow') || (has('--one') && sessions.size === 1)) return new Promise(() => undefined)
    const ids = { '--one-id': 'the only one', '--no-id': 7, '--counts': `session ${sessions.size}` }
    const sessionId =
      ids[options.find((option) => option in ids)] ?? `session ${process.pid}.${sessions.size}`
    sessions.set(sessionId, { cwd, prompts: [] })
    return { sessionId }
  })
  .onRequest(methods.agent.session.load, async ({ params: { sessionId, cwd }, client }) => {
    const prompts = stored()[sessionId]
    if (!prompts) throw RequestError.sessionNotFound(sessionId)
    for (const prompt of prompts)
      await client.notify(
        methods.client.session.update,
        textUpdate(sessionId, `replayed ${prompt}`),
      )
    sessions.set(sessionId, { cwd, prompts: [...prompts, 'loaded'] })
    return {}
  })
  .onRequest(methods.agent.session.resume, ({ params: { sessionId, cwd } }) => {
    sessions.set(sessionId, { cwd, prompts: [...stored()[sessionId], 'resumed'] })
    return {}
  })
  .onRequest(methods.agent.session.prompt, async ({ params, client, requestId }) => {
    const { sessionId, prompt } = params
    const session = sessions.get(sessionId)
    const { text } = prompt.findLast(({ type }) => type === 'text')
    endDeafTurn()
    session.prompts.push(text)
    if (store) writeFileSync(store, JSON.stringify({ [sessionId]: session.prompts }))
    let isCancelled = false
    const cancelled = new Promise((resolve) => waiting.set(sessionId, resolve)).then(
      () => (isCancelled = true),
    )
    const tell = (update) => client.notify(methods.client.session.update, { sessionId, update })
    const say = (words) => tell(textUpdate(sessionId, words).update)
    const [first, ...rest] = text.split(' ')
    const behave = behaviours[first] ?? echo
    const args = behave === echo ? [first, ...rest] : rest
    const turn = {
      params,
      client,
      requestId,
      session,
      tell,
      say,
      cancelled,
      isCancelled: () => isCancelled,
    }
    const stopReason = await behave(turn, ...args)
    return { stopReason: typeof stopReason === 'string' ? stopReason : 'end_turn' }
  })
  .onNotification(methods.agent.session.cancel, ({ params }) => waiting.get(params.sessionId)?.())
  .connect(ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)))
