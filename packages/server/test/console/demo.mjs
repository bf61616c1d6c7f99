// A demo project for screenshots and browser tests: five agents, conversations, and receivers in
// every state of health. Core's fakes simulate an hour of activity in a moment. Afterwards the fake
// clock follows the system clock.
import { createService, defaultPolicy, PERMISSIONS } from '@org/agent-messaging-core'
import { failedRun } from '@org/agent-messaging-core/runtime'
import { nodePlatform } from '@org/agent-messaging-core/node'
import {
  accepted,
  fakeClock,
  fakeRuntime,
  fakeSender,
  memoryStorage,
  refused,
  seededRandom,
  unreachable,
} from '@org/agent-messaging-testing'
import { err } from 'neverthrow'

const MINUTE = 60_000
const TICK_MS = 100

const dialogue = [
  [
    'Where is my order 4711?',
    'It left our warehouse this morning and arrives tomorrow between 9 and 12.',
  ],
  [
    'Can it be delivered to a neighbour?',
    'Yes. I have noted “Hansen, second floor” for the courier.',
  ],
  ['Thanks! And the invoice?', 'It is in your mailbox: invoice 2214, 39.90 €, paid.'],
]
const others = [
  [
    'Summarise ticket 8812',
    'Customer cannot sign in after changing the e-mail address; reproduced, fix in review.',
  ],
  ['Translate “Versandbestätigung”', 'Shipping confirmation.'],
  ['Classify: “refund still missing”', 'billing / refund / urgent'],
]
const summary = [
  'Write a summary',
  [
    '**Summary** of order 4711',
    '',
    '| step | state |',
    '|---|---|',
    '| paid | yes |',
    '| sent | `today` |',
    '',
    '- [x] invoice 2214',
    '- [ ] feedback',
    '',
    'See [the order](https://shop.example.com/4711). <script>alert(1)</script>',
  ].join('\n'),
]
/** The parts before and behind the text of the summary. */
const order = { toolCallId: 'call-1', toolName: 'orderStatus', title: 'Look up the order' }
const invoice = { toolCallId: 'call-2', toolName: 'invoice_of_the_order_that_the_customer_has' }
const before = [
  { type: 'start-step', name: 'Collect the facts' },
  { type: 'reasoning-delta', id: 'r', text: 'The customer asks for order 4711.\nI look it up.' },
  { type: 'tool-input-available', ...order, input: { id: '4711', with: ['events', 'invoice'] } },
  {
    type: 'tool-output-available',
    ...order,
    output: { state: 'sent', note: '</script><b>"\u2028 \u202Etxt.exe', key: 'x'.repeat(200) },
  },
  { type: 'tool-input-available', ...invoice, input: { order: 4711 } },
  { type: 'tool-output-error', ...invoice, errorText: 'the archive <b>is busy</b>' },
  { type: 'start-step' },
]
const behind = [
  { type: 'data', name: 'parcel', data: { weightKg: 1.2, track: ['Hamburg', 'Kiel'] } },
  {
    type: 'file',
    url: 'https://shop.example.com/invoices/2214-of-order-4711-with-a-long-name.pdf',
    mediaType: 'application/pdf',
    filename: 'invoice\u202Efdp.exe',
  },
  {
    type: 'source-url',
    sourceId: 's',
    url: `https://shop.example.com/orders/4711?"><script>&long=${'a'.repeat(80)}`,
  },
]
const answers = new Map([...dialogue, ...others, summary])

/** The outcome of an attempt, by host of the receiver. */
const REFUND = 'Please refund order 4711'
const refundQuestion = {
  kind: 'input_required',
  question: 'Refund order 4711 to the customer?',
  schema: {
    type: 'object',
    properties: {
      amount: { type: 'number', title: 'Amount in EUR' },
      speed: { type: 'string', title: 'Speed', enum: ['today', 'with the next payout'] },
      note: { type: 'string', title: 'Note for the customer' },
    },
    required: ['amount', 'speed'],
  },
}

const outcomes = (random) => ({
  'crm.example.com': () => accepted(200),
  'chat.example.com': () =>
    random() < 0.18 ? { ...refused(503), responseBody: 'upstream connect error' } : accepted(204),
  'legacy.example.net': () => ({
    ...refused(500),
    responseBody: '{"error":"NullPointerException at Hooks.java:41"}',
  }),
  'old.example.org': () => refused(410),
  'data.example.io': () => (random() < 0.3 ? unreachable('timeout') : accepted(202)),
})

export async function playDemo() {
  const random = seededRandom(7).next
  const platform = nodePlatform({ masterKey: new Uint8Array(32).fill(7) })
  const clock = fakeClock(Date.now() - 60 * MINUTE)
  const answer = ({ message, inputs }) => {
    if (message.includes('fail'))
      return failedRun('RUNTIME_ERROR', 'the model refused: context length exceeded')
    if (message === REFUND && !inputs) return refundQuestion
    return { kind: 'answered', response: answers.get(message) ?? message }
  }
  const slowAnswer = async (request) => {
    if (request.message === summary[0]) {
      for (const part of before) request.emit(part)
      for (const word of summary[1].split(/(?<= )/)) {
        request.emit(word)
        await clock.sleep(100)
      }
      for (const part of behind) request.emit(part)
      return answer(request)
    }
    await clock.sleep(
      request.message.startsWith('Think') ? 6_000 : 400 + Math.floor(random() * 2_000),
    )
    return answer(request)
  }
  const broken = {
    ...fakeRuntime({ kind: 'acp' }),
    start: async () =>
      err({
        code: 'RUNTIME_EXITED',
        message: 'the program “coder” ended with code 1: ANTHROPIC_API_KEY is not set',
      }),
  }
  const outcomeByHost = outcomes(random)
  const sender = fakeSender({
    outcome: async (request) => {
      const outcomeOf = outcomeByHost[new URL(request.url).hostname]
      if (!outcomeOf) return sendOverHttp(request)
      await clock.sleep(20 + Math.floor(random() * 180))
      return outcomeOf()
    },
  })
  const runtimes = [
    fakeRuntime({ kind: 'openai', handler: slowAnswer }),
    fakeRuntime({ kind: 'http', handler: slowAnswer }),
    broken,
  ]
  const service = createService({
    ...platform,
    clock,
    sender,
    runtimes,
    storage: memoryStorage(),
    policy: {
      pollMs: 5_000,
      retry: { ...defaultPolicy.retry, delaysMs: [5_000, 30_000, 5 * MINUTE] },
    },
  })
  await service.start()
  const { id: projectId } = await service.projects.create({ name: 'demo' })
  const { key } = await service.keys.create({
    projectId,
    name: 'operator',
    permissions: PERMISSIONS,
  })

  for (const [name, kind] of [
    ['support', 'openai'],
    ['triage', 'http'],
    ['translator', 'openai'],
  ]) {
    await service.agents.create({
      projectId,
      name,
      desiredState: 'running',
      runtime: { kind },
    })
  }
  await service.agents.create({
    projectId,
    name: 'nightly-report',
    runtime: { kind: 'http' },
    defaultExecutionPrincipal: { type: 'end_user' },
  })
  const creating = service.agents.create({
    projectId,
    name: 'coder',
    desiredState: 'running',
    runtime: { kind: 'acp' },
  })
  await clock.advance(3_000)
  await creating

  const hooks = [
    { url: 'https://crm.example.com/hooks/agents', description: 'Customer records', events: ['*'] },
    {
      url: 'https://chat.example.com/in/7f3a',
      description: 'Team chat',
      events: ['message.responded', 'agent.error'],
    },
    { url: 'https://legacy.example.net/webhook.jsp', events: ['message.responded'] },
    { url: 'https://old.example.org/callback', events: ['message.responded'], disableOnGone: true },
    { url: 'https://data.example.io/v2/events', description: 'Warehouse', events: ['*'] },
  ]
  const webhooks = []
  for (const hook of hooks)
    webhooks.push((await service.webhooks.create({ projectId, ...hook })).webhook)

  const send = (agent, sessionId, message, more = {}) =>
    service.messages.send({ projectId, agent, sessionId, message, waitMs: 0, ...more })
  for (let minute = 0; minute < 55; minute++) {
    const busy = 1 + Math.round(2 * (1 + Math.sin(minute / 6)))
    for (let i = 0; i < busy; i++) {
      const [text] = others[Math.floor(random() * others.length)]
      await send(
        random() < 0.5 ? 'triage' : 'translator',
        `ticket-${8_800 + Math.floor(random() * 9)}`,
        random() < 0.04 ? 'Please fail' : text,
      )
      await clock.advance(Math.floor((MINUTE - 1) / busy))
    }
  }
  for (const [text] of dialogue) {
    const more = {
      executionPrincipal: { type: 'end_user', endUserId: 'customer-1837' },
      metadata: { channel: 'web', correlationId: 'c-20931' },
    }
    await send('support', 'order-4711', text, more)
    await clock.advance(30_000)
  }
  await send('support', 'order-4715', summary[0])
  await send('support', 'order-4712', 'This one will fail')
  await send('support', 'order-4716', REFUND)
  await service.webhooks.disable({ projectId, webhookId: webhooks[4].id })
  await clock.advance(2 * MINUTE)
  await send('support', 'order-4713', 'Where is my order 4711?')
  await clock.advance(20_000)

  let isStopped = false
  let msPerTick = TICK_MS
  const clockLoop = (async () => {
    while (!isStopped) {
      await new Promise((resolve) => setTimeout(resolve, TICK_MS))
      await clock.advance(msPerTick)
    }
  })()
  return {
    service,
    crypto: platform.crypto,
    operatorKey: 'the-operator-of-the-demo',
    projectId,
    key,
    webhooks,
    /** Lets the clock run faster than the time of day. */
    hurry(times) {
      msPerTick = times * TICK_MS
    },
    async stop() {
      isStopped = true
      await clockLoop
    },
  }
}

/** Sends to the console's catcher, which is a real receiver. */
async function sendOverHttp({ url, headers, body }) {
  const response = await fetch(url, { method: 'POST', headers, body, redirect: 'manual' })
  const kind = response.ok ? 'accepted' : 'refused'
  return { kind, statusCode: response.status, responseBody: await response.text() }
}
