import { randomUUID } from 'node:crypto'
import axe, { type AxeResults } from 'axe-core'
import { createConsole, isConsolePath, type Console } from '@org/agent-messaging-console'
import { createHttpApp } from '@org/agent-messaging-http'
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { chromiumOptions } from '../../../../scripts/chromium.mjs'
import { needs } from '../../../../scripts/test-needs.js'
import { openListener, type Listener } from '../../src/http-listener.js'
import { playDemo } from './demo.mjs'

type Demo = Awaited<ReturnType<typeof playDemo>>

/** A browser is slow on a busy machine. */
const TIMEOUT_MS = 60_000

let demo: Demo
let pages: Console
let listener: Listener
let browser: Browser

/** Opens a page and collects its complaints: errors, blocked content and failed loads. */
async function visit(
  options: BrowserContextOptions = {},
): Promise<{ page: Page; complaints: string[] }> {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, ...options })
  page.setDefaultTimeout(TIMEOUT_MS)
  const complaints: string[] = []
  page.on(
    'console',
    (message) => ['error', 'warning'].includes(message.type()) && complaints.push(message.text()),
  )
  page.on('pageerror', (error) => complaints.push(String(error)))
  return { page, complaints }
}

/** Runs `act` on a page that is signed in by a one-time link. The page must raise no complaint. */
async function signedIn(
  act: (page: Page) => Promise<void>,
  options: BrowserContextOptions = {},
): Promise<void> {
  const { page, complaints } = await visit(options)
  await page.goto(listener.url + pages.signInPath(demo.key))
  try {
    await act(page)
    expect(complaints).toEqual([])
  } finally {
    await page.close()
  }
}

const at = (path: string): string => `${listener.url}/console${path}`
const text = async (page: Page): Promise<string> => (await page.textContent('main')) ?? ''

async function newestDelivery(webhookId: string, filter: object = {}): Promise<string> {
  const found = await demo.service.deliveries.list(
    { projectId: demo.projectId, webhookId, ...filter },
    { limit: 1 },
  )
  return found._unsafeUnwrap().data[0]?.id ?? ''
}

async function anotherWebhook() {
  const made = await demo.service.webhooks.create({
    projectId: demo.projectId,
    url: 'https://crm.example.com/third',
    events: ['agent.stopped'],
  })
  return made._unsafeUnwrap().webhook
}

/** Finds the position of each line of the first message. */
const LINES_SAID = `(() => {
  const range = document.createRange()
  range.selectNodeContents(document.querySelector('.said'))
  return [...range.getClientRects()].map(({ left, right }) => ({ left: Math.round(left), right: Math.round(right) })).filter(({ left, right }) => left < right)
})()`

const webhook = (n: number): string => demo.webhooks[n]?.id ?? ''

describe('the console in a browser', { ...needs('chromium'), timeout: 2 * TIMEOUT_MS }, () => {
  beforeAll(async () => {
    demo = await playDemo()
    pages = createConsole({ ...demo, catcher: true })
    const api = createHttpApp({ ...demo, newRequestId: randomUUID })
    const fetch = (request: Request) =>
      (isConsolePath(new URL(request.url).pathname) ? pages : api).fetch(request)
    listener = await openListener({ host: '127.0.0.1', port: 0, fetch })
    browser = await chromium.launch(chromiumOptions())
  }, 3 * TIMEOUT_MS)

  afterAll(async () => {
    await browser.close()
    await listener.close(0)
    await demo.stop()
  })

  it('signs in by a one-time link or an API key, and signs out', async () => {
    const { page, complaints } = await visit()
    const link = listener.url + pages.signInPath(demo.key)
    await page.goto(link)
    expect(page.url()).toBe(at(''))
    const cookies = await page.context().cookies()
    await page.click('text=Sign out')
    expect(page.url()).toBe(at('/sign-in'))
    await page.context().addCookies(cookies)
    await page.goto(at('/agents'))
    expect(page.url()).toContain(at('/sign-in'))
    await page.goto(link)
    expect(await text(page)).toContain('This link was already used')
    expect(complaints.splice(0)).toEqual([expect.stringContaining('401')])
    await page.goto(at('/agents?x=1'))
    await page.fill('#key', demo.key)
    await page.keyboard.press('Enter')
    await page.waitForURL(at('/agents?x=1'))
    expect(complaints).toEqual([])
    await page.close()
  })

  it('stops an agent and starts it again', async () => {
    await signedIn(async (page) => {
      await page.goto(at('/agents'))
      const row = page.locator('tr', { hasText: 'translator' })
      await row.getByRole('button', { name: 'Stop' }).click()
      await row.getByText('stopped').waitFor()
      await row.getByRole('button', { name: 'Start' }).click()
      await row.getByText('running').waitFor()
    })
  })

  it('deletes an agent by its typed name, with the keyboard only', async () => {
    const ref = { projectId: demo.projectId, agent: 'short-lived' }
    ;(
      await demo.service.agents.create({
        projectId: demo.projectId,
        name: ref.agent,
        runtime: { kind: 'http' },
      })
    )._unsafeUnwrap()
    await signedIn(async (page) => {
      await page.goto(at('/agents'))
      await page.getByRole('link', { name: 'Delete short-lived' }).focus()
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { name: 'Delete agent short-lived?' }).waitFor()
      await page.keyboard.press('Enter')
      expect((await demo.service.agents.get(ref)).isOk()).toBe(true)
      await page.keyboard.type('short-lived')
      await page.keyboard.press('Enter')
      await page.getByText('The agent was deleted').waitFor()
      expect((await demo.service.agents.get(ref)).isErr()).toBe(true)
    })
  })

  it('asks again before it deletes an agent with open messages', async () => {
    const agent = 'doomed'
    const { projectId } = demo
    ;(
      await demo.service.agents.create({
        projectId,
        name: agent,
        runtime: { kind: 'http' },
        desiredState: 'running',
      })
    )._unsafeUnwrap()
    const send = async () =>
      (
        await demo.service.messages.send({
          projectId,
          agent,
          sessionId: 's',
          message: 'Think',
          waitMs: 0,
        })
      ).isOk()
    await expect.poll(send, { timeout: TIMEOUT_MS }).toBe(true)
    // The messages run one after another, so some stay open even on a slow machine.
    for (let i = 0; i < 9; i++) await send()
    const { page, complaints } = await visit()
    await page.goto(listener.url + pages.signInPath(demo.key))
    await page.goto(at(`/agents/${agent}/delete`))
    await page.fill('#name', agent)
    await page.getByRole('button', { name: 'Delete agent' }).click()
    await page.getByRole('alert').getByText('waiting or running').waitFor()
    await page.evaluate(axe.source)
    expect((await page.evaluate<AxeResults>('axe.run()')).violations).toEqual([])
    await page.getByLabel('Delete anyway').check()
    await page.getByRole('button', { name: 'Delete agent' }).click()
    await page.getByText('The agent was deleted').waitFor()
    expect(complaints).toEqual([expect.stringContaining('400')])
    await page.close()
  })

  it('shows the sessions of a named agent to a key that cannot list agents', async () => {
    const made = await demo.service.keys.create({
      projectId: demo.projectId,
      name: 'shop',
      permissions: ['project:message'],
    })
    const { page, complaints } = await visit()
    await page.goto(listener.url + pages.signInPath(made._unsafeUnwrap().key))
    expect(await page.getByRole('navigation', { name: 'Main' }).textContent()).toBe(
      'OverviewSessionsMessagesQuestions 1 open',
    )
    await page.getByRole('link', { name: 'Sessions' }).click()
    expect(await text(page)).not.toContain('translator')
    await page.evaluate(axe.source)
    expect((await page.evaluate<AxeResults>('axe.run()')).violations).toEqual([])
    await page.getByLabel('Agent').fill('support')
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: 'order-4711' }).click()
    await page.getByText('Where is my order 4711?').waitFor()
    expect(complaints).toEqual([])
    await page.close()
  })

  it.each(['..', '100%/a', '%2e%2e'])(
    'opens the session %s by its link, and erases it',
    async (sessionId) => {
      await demo.service.messages.send({
        projectId: demo.projectId,
        agent: 'support',
        sessionId,
        message: 'x',
        waitMs: 0,
      })
      await signedIn(async (page) => {
        await page.goto(at('/sessions?agent=support'))
        await page.getByRole('link', { name: sessionId, exact: true }).click()
        expect(await page.textContent('h1')).toBe(sessionId)
        await page.locator('.answered').getByText('responded').waitFor()
        await page.getByRole('link', { name: 'Erase' }).click()
        await page.getByRole('button', { name: 'Erase session' }).click()
        await page.getByText('The session was erased').waitFor()
        await expect(
          page.getByRole('link', { name: sessionId, exact: true }).count(),
        ).resolves.toBe(0)
      })
    },
  )

  it('sends a message on behalf of an end user, and shows its answer', async () => {
    await signedIn(async (page) => {
      await page.goto(at('/sessions?agent=support'))
      await page.fill('#sessionId', 'a/b session?')
      await page.fill('#message', 'Where is my order 4711?')
      await page.fill('#endUserId', 'customer-7')
      await page.click('text=Metadata')
      await page.fill('#metadata', '{"channel":"test"}')
      await page.getByRole('button', { name: 'Send' }).click()
      await page.waitForURL(at('/sessions/support?session=a%2Fb+session%3F'))
      await page.locator('.answered', { hasText: 'It left our warehouse' }).waitFor()
      expect(await text(page)).toContain('for customer-7')
      await page.fill('#message', 'Thanks! And the invoice?')
      await page.getByRole('button', { name: 'Send' }).click()
      await page.locator('.answered', { hasText: 'It is in your mailbox' }).waitFor()
      await page.fill('#message', 'Think it over')
      await page.getByRole('button', { name: 'Send' }).click()
      // Screen readers read out only this part of the page.
      await page.locator('#news', { hasText: 'Think it over' }).waitFor({ state: 'attached' })
    })
  })

  it('keeps the contents of a refused form, and names the problem', async () => {
    const { page, complaints } = await visit()
    await page.goto(listener.url + pages.signInPath(demo.key))
    await page.goto(at('/sessions?agent=support'))
    await page.fill('#sessionId', 'a new one')
    await page.fill('#message', 'Hello <b>you</b>')
    await page.click('text=Metadata')
    await page.fill('#metadata', '[1]')
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByRole('alert').getByText('Metadata must be a JSON object').waitFor()
    expect(await page.inputValue('#message')).toBe('Hello <b>you</b>')
    expect(complaints).toEqual([expect.stringContaining('400')])
    await page.close()
  })

  it('shows an answer as it streams, and the messages of others, without a new page', async () => {
    await signedIn(async (page) => {
      await page.goto(at('/sessions/support?session=order-4715'))
      await page.locator('.answered table').waitFor()
      await page.evaluate(`window.first = document.querySelector('.exchange')`)
      // Another person sends this message.
      const sent = await demo.service.messages.send({
        projectId: demo.projectId,
        agent: 'support',
        sessionId: 'order-4715',
        message: 'Write a summary',
        waitMs: 0,
      })
      const turn = page.locator(`#turn-${sent._unsafeUnwrap().message.id}`)
      await turn.locator('.asked', { hasText: 'Write a summary' }).waitFor()
      await turn.locator('.answered.busy strong', { hasText: 'Summary' }).waitFor()
      await turn.locator('.answered.good a', { hasText: 'the order' }).waitFor()
      expect(await turn.textContent()).toContain('<script>alert(1)</script>')
      await page.fill('#message', 'Thanks! And the invoice?')
      await page.keyboard.press('Control+Enter')
      await page.locator('.answered', { hasText: 'It is in your mailbox' }).waitFor()
      expect(await page.inputValue('#message')).toBe('')
      // The same text again is another message.
      const thanks = page.locator('.asked', { hasText: 'Thanks! And the invoice?' })
      expect(await thanks.count()).toBe(1)
      await page.fill('#message', 'Thanks! And the invoice?')
      await page.keyboard.press('Control+Enter')
      await thanks.nth(1).waitFor()
      expect(await page.evaluate(`window.first.isConnected`)).toBe(true)
      await page.getByRole('link', { name: 'Show the raw text' }).click()
      await turn.getByText('**Summary** of order 4711').waitFor()
    })
  })

  it('does not send a message again after a failure of the server', async () => {
    const { page } = await visit()
    await page.goto(listener.url + pages.signInPath(demo.key))
    await page.goto(at('/sessions/support?session=order-4711'))
    let sent = 0
    await page.route('**/sessions/support?*', async (route) => {
      if (route.request().method() !== 'POST') return route.continue()
      sent++
      return route.fulfill({ status: 503, body: 'The service cannot reach its storage' })
    })
    await page.fill('#message', 'once')
    await page.keyboard.press('Control+Enter')
    await page.getByRole('alert').getByText('the server does not respond').waitFor()
    expect(await page.inputValue('#message')).toBe('once')
    expect(sent).toBe(1)
    await page.close()
  })

  it('follows a session with more messages than an address can name', async () => {
    await signedIn(async (page) => {
      await page.goto(at('/sessions/support?session=order-4711'))
      const shown = await page.evaluate<number>(`(() => {
        const [first] = talk.querySelectorAll('.exchange')
        for (let i = 0; i < 400; i++) talk.append(first.cloneNode(true))
        return talk.querySelectorAll('.exchange').length
      })()`)
      expect(shown).toBeGreaterThan(400)
      const [answer] = await Promise.all([
        page.waitForResponse((response) => response.url().includes('/live?')),
        page.evaluate('follow()'),
      ])
      expect(answer.status()).toBe(200)
    })
  })

  it('shows the problem of a message that is refused on the live page', async () => {
    const { page, complaints } = await visit()
    await page.goto(listener.url + pages.signInPath(demo.key))
    await page.goto(at('/sessions/support?session=order-4711'))
    await page.fill('#message', 'kept')
    await page.click('text=Metadata >> nth=-1')
    await page.fill('#metadata', '[1]')
    await page.fill('#message', 'kept')
    await page.keyboard.press('Control+Enter')
    await page.getByRole('alert').getByText('Metadata must be a JSON object').waitFor()
    expect(await page.inputValue('#message')).toBe('kept')
    expect(complaints).toEqual([expect.stringContaining('400'), expect.stringContaining('400')])
    await page.close()
  })

  it('shows a delivery beside its body, and copies the body, an answer and a curl command', async () => {
    await signedIn(
      async (page) => {
        const id = await newestDelivery(webhook(2), { lastAnswer: '5xx' })
        await page.goto(at(`/deliveries/${id}`))
        const left = await page.locator('.timeline').boundingBox()
        const right = await page.locator('#body').boundingBox()
        expect(right?.x).toBeGreaterThan((left?.x ?? 0) + (left?.width ?? 0))
        await page.locator('.json-key', { hasText: '"event"' }).waitFor()
        const copied = () => page.evaluate<string>('navigator.clipboard.readText()')
        await page.getByRole('button', { name: 'Copy body' }).click()
        expect(JSON.parse(await copied())).toMatchObject({ event: 'message.responded' })
        await page.getByRole('button', { name: 'Copy answer of attempt 1', exact: true }).click()
        expect(await copied()).toContain('NullPointerException')
        await page.getByText('As a curl command').first().click()
        await page.getByRole('button', { name: 'Copy attempt 1 as curl', exact: true }).click()
        const command = await copied()
        expect(command).toContain(`curl -X POST 'https://legacy.example.net/webhook.jsp'`)
        expect(command).not.toMatch(/signature|whsec/i)
      },
      { permissions: ['clipboard-read', 'clipboard-write'] },
    )
  })

  it('shows times in the zone of the browser, with UTC on hover', async () => {
    await signedIn(
      async (page) => {
        await page.locator('html[data-zone="Asia/Tokyo"]').waitFor()
        await page.goto(at(`/deliveries/${await newestDelivery(webhook(0))}`))
        const time = page.locator('.facts-list time').last()
        const utc = (await time.getAttribute('title')) ?? ''
        const local = new Date(Date.parse(utc) + 9 * 3_600_000).toISOString()
        expect(utc).toMatch(/Z$/)
        expect(await time.textContent()).toContain(local.slice(0, 19).replace('T', ' '))
        await page.goto(at('/deliveries'))
        await page.getByText('From (Asia/Tokyo)').waitFor()
      },
      { timezoneId: 'Asia/Tokyo' },
    )
  })

  it('reads out the values of a chart for the pointer and for the arrow keys', async () => {
    await signedIn(async (page) => {
      await page.goto(at(''))
      const plot = page.getByRole('group', { name: 'Messages. The arrow keys' })
      const reading = plot.locator('.reading')
      await plot.locator('[data-reading]').nth(20).hover({ force: true })
      await reading.getByText(/: responded \d+, .*waiting \d+/).waitFor()
      await page.reload()
      await plot.focus()
      await reading.getByText(/: responded \d+, .*waiting \d+/).waitFor()
      await page.keyboard.press('End')
      const last = await reading.textContent()
      await page.keyboard.press('ArrowLeft')
      expect(await reading.textContent()).not.toBe(last)
    })
  })

  it('disables a webhook and recovers all webhooks with the keyboard only', async () => {
    const { id } = await anotherWebhook()
    await signedIn(async (page) => {
      const press = async (name: string, role: 'link' | 'button') => {
        const target = page.getByRole(role, { name, exact: true })
        await page.keyboard.press('Tab')
        for (let i = 0; i < 60; i++) {
          if ((await target.and(page.locator(':focus')).count()) > 0) break
          await page.keyboard.press('Tab')
        }
        await page.keyboard.press('Enter')
      }
      await page.goto(at(`/webhooks/${id}`))
      await press('Disable', 'link')
      await page.getByText('The receiver gets no requests').waitFor()
      await press('Disable', 'button')
      await page.getByText('The webhook is disabled').waitFor()
      await page.goto(at('/recover'))
      await page.locator('#status').focus()
      await page.keyboard.type('delivered')
      await press('Count the matches', 'button')
      await page.getByRole('heading', { name: /deliveries match$/ }).waitFor()
      await page.getByText('the receivers of all webhooks').waitFor()
      const send = await page.getByRole('button', { name: /^Send .* again$/ }).textContent()
      await press(send ?? '', 'button')
      await page.getByRole('progressbar', { name: 'Progress' }).waitFor()
      await page.getByText('done', { exact: true }).waitFor()
    })
    const ref = { projectId: demo.projectId, webhookId: id }
    ;(await demo.service.webhooks.delete(ref))._unsafeUnwrap()
  })

  it('retries a failed message', async () => {
    await signedIn(async (page) => {
      await page.goto(at('/sessions/support?session=order-4712'))
      await page.getByRole('button', { name: 'Retry' }).click()
      await page.getByText('end of its session’s queue').waitFor()
      await page
        .getByRole('group', { name: 'Conversation' })
        .getByText('context length exceeded')
        .waitFor()
    })
  })

  it('registers, tests, pauses, enables, edits, rotates and deletes a webhook', async () => {
    await signedIn(async (page) => {
      await page.goto(at('/webhooks'))
      await page.fill('#url', 'https://crm.example.com/second')
      await page.getByRole('button', { name: 'Register' }).click()
      const secret = await page.textContent('#secret')
      expect(secret).toMatch(/^whsec_/)
      await page.reload()
      expect(await page.content()).not.toContain(secret)
      await page.getByRole('button', { name: 'Send test event' }).click()
      await page.locator('tr', { hasText: 'webhook.test' }).getByText('delivered').waitFor()
      await page.getByRole('button', { name: 'Pause' }).click()
      await page.getByText('The webhook is paused').waitFor()
      await page.getByRole('button', { name: 'Resume' }).click()
      await page.getByText('The webhook is resumed').waitFor()
      await page.getByRole('link', { name: 'Disable' }).click()
      await page.getByText('The receiver gets no requests').waitFor()
      await page.getByRole('button', { name: 'Disable' }).click()
      await page.getByText('Disabled by an operator').waitFor()
      await page.getByRole('button', { name: 'Enable' }).click()
      await page.getByText('The webhook is enabled').waitFor()
      await page.getByRole('link', { name: 'Edit' }).click()
      await page.fill('#description', 'The second one')
      await page.getByLabel('All events, including future ones').uncheck()
      await page.getByLabel('agent.error').check()
      await page.getByText('Limits, timeout and retries').click()
      await page.getByLabel('Most requests at a time').fill('3')
      await page.getByRole('button', { name: 'Save' }).click()
      await page.getByText('The changes were saved').waitFor()
      expect(await text(page)).toMatch(/The second one[^]*agent\.error[^]*at most 3/)
      await page.getByRole('link', { name: 'Rotate secret' }).click()
      await page.getByText('must know the new secret').waitFor()
      await page.getByRole('button', { name: 'Rotate secret' }).click()
      expect(await page.textContent('#secret')).not.toBe(secret)
      await page.getByRole('link', { name: 'Done' }).click()
      await page.getByRole('button', { name: 'Finish rotation' }).click()
      await page.getByText('The old secret no longer signs').waitFor()
      await page.getByRole('link', { name: 'Delete' }).click()
      await page.getByRole('link', { name: 'Cancel' }).click()
      await page.getByRole('link', { name: 'Delete' }).click()
      await page.getByRole('button', { name: 'Delete webhook' }).click()
      await page.getByText('The webhook was deleted').waitFor()
      expect(await text(page)).not.toContain('crm.example.com/second')
    })
  })

  it('finds deliveries by a filter in the address, and redelivers one', async () => {
    await signedIn(async (page) => {
      await page.goto(at('/deliveries'))
      await page.selectOption('#answer', '2xx')
      await page.selectOption('#webhook', webhook(0))
      await page.getByRole('button', { name: 'Filter' }).click()
      expect(new URL(page.url()).searchParams.get('answer')).toBe('2xx')
      const row = page.locator('tbody tr').first()
      expect(await row.textContent()).toMatch(/200.*crm\.example\.com/)
      await row.getByRole('link').first().click()
      const attempts = page.locator('.timeline strong')
      const before = await attempts.count()
      await page.getByRole('button', { name: 'Redeliver' }).click()
      await page.getByText('An attempt was requested. This page shows its result.').waitFor()
      await page.locator('.timeline strong').nth(before).waitFor()
    })
  })

  it('cancels a pending delivery', async () => {
    await signedIn(async (page) => {
      await page.goto(at(`/deliveries/${await newestDelivery(webhook(4), { status: 'pending' })}`))
      await page.getByRole('button', { name: 'Cancel' }).click()
      await page.getByText('cancelled by an operator').waitFor()
    })
  })

  it('recovers matching deliveries, and shows the progress', async () => {
    await signedIn(async (page) => {
      await page.goto(at(`/webhooks/${webhook(0)}`))
      await page.getByRole('link', { name: 'Recover' }).click()
      await page.selectOption('#status', 'delivered')
      await page.getByRole('button', { name: 'Count the matches' }).click()
      const figure = async (pattern: RegExp) =>
        Number(pattern.exec((await text(page)).replaceAll(',', ''))?.[1])
      const total = await figure(/(\d+) deliveries match/)
      expect(total).toBeGreaterThan(200)
      await page.getByRole('button', { name: `Send ${total} again` }).click()
      await page.getByText('done', { exact: true }).waitFor()
      expect(await figure(/(\d+) deliveries are due again/)).toBeGreaterThan(190)
    })
  })

  it('the catcher checks signatures and answers with the chosen response', async () => {
    await signedIn(async (page) => {
      await page.goto(at('/catcher'))
      await page.getByRole('button', { name: 'Register as a webhook' }).click()
      await page.selectOption('#status', '503')
      await page.getByRole('button', { name: 'Apply' }).click()
      await demo.service.messages.send({
        projectId: demo.projectId,
        agent: 'triage',
        sessionId: 'caught',
        message: 'x',
        waitMs: 0,
      })
      await page.getByText('signature valid').first().waitFor()
      await page.locator('.caught a').first().click()
      await page.locator('.timeline').getByText('503').first().waitFor()
      await page.goto(at('/catcher'))
      await page.getByRole('button', { name: 'Clear the list' }).click()
      await page.getByText('The list was cleared').waitFor()
    })
  })

  it('remembers the chosen theme', async () => {
    await signedIn(
      async (page) => {
        const background = () =>
          page.evaluate<string>('getComputedStyle(document.body).backgroundColor')
        const light = await background()
        await page.getByRole('button', { name: 'Switch to dark theme' }).click()
        const dark = await background()
        expect(dark).not.toBe(light)
        await page.goto(at('/agents'))
        expect(await background()).toBe(dark)
      },
      { colorScheme: 'light' },
    )
  })

  it('shows that a page is stale while the server does not respond', async () => {
    const { page } = await visit()
    await page.goto(listener.url + pages.signInPath(demo.key))
    const notice = 'Not updated since'
    await page.route('**', (route) => route.abort())
    await expect.poll(() => text(page), { timeout: TIMEOUT_MS }).toContain(notice)
    await page.unroute('**')
    await expect.poll(() => text(page), { timeout: TIMEOUT_MS }).not.toContain(notice)
    await page.route('**', (route) => route.fulfill({ status: 503 }))
    await expect.poll(() => text(page), { timeout: TIMEOUT_MS }).toContain(notice)
    await page.close()
  })

  it('asks for the key when the session ends, and then shows the same page again', async () => {
    const { page } = await visit()
    await page.goto(listener.url + pages.signInPath(demo.key))
    await page.goto(at('/deliveries?status=delivered'))
    await page.context().clearCookies()
    await page.waitForURL(at('/sign-in*'))
    await page.fill('#key', demo.key)
    await page.keyboard.press('Enter')
    await page.waitForURL(at('/deliveries*'))
    expect(page.url()).toBe(at('/deliveries?status=delivered'))
    await page.close()
  })

  it.each([
    ['a form beside a list that is updated', '/webhooks', '#description', ''],
    ['a sent message', '/sessions/support?session=order-4711', '#message', 'Control+Enter'],
  ])('keeps the text of %s over a new sign-in', async (_, path, field, keys) => {
    const { page } = await visit()
    const signIn = async (to: string) => {
      await page.waitForURL(at('/sign-in*'))
      await page.fill('#key', demo.key)
      await page.keyboard.press('Enter')
      await page.waitForURL(at(to))
    }
    await page.goto(listener.url + pages.signInPath(demo.key))
    await page.goto(at(path))
    await page.fill(field, 'a long text')
    await page.context().clearCookies()
    if (keys !== '') await page.keyboard.press(keys)
    await signIn(`${path.split('?')[0]}*`)
    expect(await page.inputValue(field)).toBe('a long text')
    await page.goto(at(path))
    expect(await page.inputValue(field)).toBe('')

    await page.fill(field, 'of another person')
    await page.getByRole('button', { name: 'Sign out' }).click()
    await signIn('')
    await page.goto(at(path))
    expect(await page.inputValue(field)).toBe('')
    await page.close()
  })

  it('does not update a part with selected text until the selection ends', async () => {
    await signedIn(async (page) => {
      await page.clock.install({ time: 0 })
      await page.clock.pauseAt(1_000)
      await page.goto(at(`/webhooks/${webhook(0)}`))
      let updates = 0
      page.on(
        'request',
        (request) => (updates += request.headers()['hx-request'] === 'true' ? 1 : 0),
      )
      await page.locator('#live .facts-list dt').first().dblclick()
      const selected = () => page.evaluate<string>('getSelection().toString()')
      const word = await selected()
      expect(word).not.toBe('')
      await page.clock.runFor(11_000)
      expect([await selected(), updates]).toEqual([word, 0])
      await page.getByRole('heading', { level: 1 }).click()
      const updated = page.waitForResponse(
        (answer) => answer.request().headers()['hx-request'] === 'true',
      )
      await page.clock.runFor(6_000)
      await updated
    })
  })

  it('shows Arabic from right to left', async () => {
    const message = 'نعم\nكيف حالك اليوم يا صديقي العزيز'
    await demo.service.messages.send({
      projectId: demo.projectId,
      agent: 'triage',
      sessionId: 'عربي',
      message,
      waitMs: 0,
    })
    await signedIn(async (page) => {
      await page.goto(at(`/sessions/triage?session=${encodeURIComponent('عربي')}`))
      const [short, long] = await page.evaluate<{ left: number; right: number }[]>(LINES_SAID)
      expect(short?.right).toBe(long?.right)
      expect(short?.left).toBeGreaterThan(long?.left ?? Infinity)
    })
  })

  it('accepts a trailing slash in addresses', async () => {
    await signedIn(async (page) => {
      await page.goto(at('/'))
      expect(page.url()).toBe(at(''))
      await page.goto(at('/agents/'))
      expect(page.url()).toBe(at('/agents'))
    })
  })

  it('works with the keyboard', async () => {
    await signedIn(async (page) => {
      await page.keyboard.press('Tab')
      expect(await page.evaluate<string>('document.activeElement.textContent.trim()')).toBe(
        'Skip to content',
      )
      for (let i = 0; i < 3; i++) await page.keyboard.press('Tab')
      await page.keyboard.press('Enter')
      await page.waitForURL(at('/agents'))
    })
  })

  it('copies an id', async () => {
    await signedIn(
      async (page) => {
        await page.goto(at(`/webhooks/${webhook(0)}`))
        await page.getByRole('button', { name: 'Copy ID' }).first().click()
        await page.locator('.copied').waitFor()
        expect(await page.evaluate<string>('navigator.clipboard.readText()')).toBe(webhook(0))
      },
      { permissions: ['clipboard-read', 'clipboard-write'] },
    )
  })

  it('works without scripts', async () => {
    await signedIn(
      async (page) => {
        await page.goto(at('/sessions/support?session=order-4713'))
        await page.fill('#message', 'Can it be delivered to a neighbour?')
        await page.getByRole('button', { name: 'Send' }).click()
        await expect
          .poll(async () => (await page.reload(), text(page)), { timeout: TIMEOUT_MS })
          .toContain('Hansen, second floor')
        await page.goto(at(`/webhooks/${webhook(0)}`))
        await page.getByRole('link', { name: 'Recover' }).click()
        await page.selectOption('#status', 'delivered')
        await page.getByRole('button', { name: 'Count the matches' }).click()
        await page.getByRole('button', { name: /^Send/ }).click()
        await expect
          .poll(async () => (await page.reload(), text(page)), { timeout: TIMEOUT_MS })
          .toContain('done')
        await page.goto(at(`/webhooks/${(await anotherWebhook()).id}/delete`))
        await page.getByRole('button', { name: 'Delete webhook' }).click()
        expect(await text(page)).toContain('The webhook was deleted')
      },
      { javaScriptEnabled: false },
    )
  })
})
