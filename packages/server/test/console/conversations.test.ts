import { orUndefined } from '@org/agent-messaging-core/host'
import { refusalOf } from '@org/agent-messaging-testing'
import axe, { type AxeResults } from 'axe-core'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { needs } from '../../../../scripts/test-needs.js'
import { openDemoBrowser, TIMEOUT_MS, type DemoBrowser } from './demo-browser.js'

let browser: DemoBrowser
const at = (path: string): string => browser.at(path)
/** The page is scrolled to the form behind the newest message. */
const IS_AT_END =
  "scrollY > 0 && document.getElementById('end').getBoundingClientRect().bottom < innerHeight + 2"
const text = async (page: Page): Promise<string> => (await page.textContent('main')) ?? ''

describe(
  'agents and sessions in the console',
  { ...needs('chromium'), timeout: 2 * TIMEOUT_MS },
  () => {
    beforeAll(async () => {
      browser = await openDemoBrowser()
    }, 3 * TIMEOUT_MS)
    afterAll(() => browser.close())

    it('signs in by a one-time link or an API key, and signs out', async () => {
      const { page, complaints } = await browser.visit()
      const link = browser.signInUrl()
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
      await page.fill('#key', browser.demo.key)
      await page.keyboard.press('Enter')
      await page.waitForURL(at('/agents?x=1'))
      expect(complaints).toEqual([])
      await page.close()
    })

    it('stops an agent and starts it again', async () => {
      await browser.signedIn(async (page) => {
        await page.goto(at('/agents'))
        const row = page.locator('tr', { hasText: 'translator' })
        await row.getByRole('button', { name: 'Stop' }).click()
        await row.getByText('stopped').waitFor()
        await row.getByRole('button', { name: 'Start' }).click()
        await row.getByText('running').waitFor()
      })
    })

    it('deletes an agent by its typed name, with the keyboard only', async () => {
      const ref = { projectId: browser.demo.projectId, agent: 'short-lived' }
      await browser.demo.service.agents.create({
        projectId: browser.demo.projectId,
        name: ref.agent,
        runtime: { kind: 'http' },
      })
      await browser.signedIn(async (page) => {
        await page.goto(at('/agents'))
        await page.getByRole('link', { name: 'Delete short-lived' }).focus()
        await page.keyboard.press('Enter')
        await page.getByRole('heading', { name: 'Delete agent short-lived?' }).waitFor()
        await page.keyboard.press('Enter')
        await browser.demo.service.agents.get(ref)
        await page.keyboard.type('short-lived')
        await page.keyboard.press('Enter')
        await page.getByText('The agent was deleted').waitFor()
        await refusalOf(browser.demo.service.agents.get(ref))
      })
    })

    it('asks again before it deletes an agent with open messages', async () => {
      const agent = 'doomed'
      const { projectId } = browser.demo
      await browser.demo.service.agents.create({
        projectId,
        name: agent,
        runtime: { kind: 'http' },
        desiredState: 'running',
      })
      const send = async () =>
        (await orUndefined(
          browser.demo.service.messages.send({
            projectId,
            agent,
            sessionId: 's',
            message: 'Think',
            waitMs: 0,
          }),
        )) !== undefined
      await expect.poll(send, { timeout: TIMEOUT_MS }).toBe(true)
      onTestFinished(() => browser.demo.hurry(1))
      browser.demo.hurry(0) // The message stays open.
      const { page, complaints } = await browser.visit()
      await page.goto(browser.signInUrl())
      await page.goto(at(`/agents/${agent}/delete`))
      await page.fill('#name', agent)
      await page.getByRole('button', { name: 'Delete agent' }).click()
      await page.getByRole('alert').getByText('waiting or running').waitFor()
      await page.evaluate(axe.source)
      expect((await page.evaluate<AxeResults>('axe.run()')).violations).toEqual([])
      browser.demo.hurry(1)
      await page.getByLabel('Delete anyway').check()
      await page.getByRole('button', { name: 'Delete agent' }).click()
      await page.getByText('The agent was deleted').waitFor()
      expect(complaints).toEqual([expect.stringContaining('400')])
      await page.close()
    })

    it('shows the sessions of a named agent to a key that cannot list agents', async () => {
      const made = await browser.demo.service.keys.create({
        projectId: browser.demo.projectId,
        name: 'shop',
        permissions: ['project:message'],
      })
      const { page, complaints } = await browser.visit()
      await page.goto(browser.signInUrl(made.key))
      expect(await page.getByRole('navigation', { name: 'Main' }).textContent()).toBe(
        'OverviewFailuresConversationsQuestions 1 open',
      )
      await page.getByRole('link', { name: 'Conversations' }).click()
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
        await browser.demo.service.messages.send({
          projectId: browser.demo.projectId,
          agent: 'support',
          sessionId,
          message: 'x',
          waitMs: 0,
        })
        await browser.signedIn(async (page) => {
          await page.goto(at('/conversations/sessions?agent=support'))
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
      onTestFinished(() => browser.demo.hurry(1))
      await browser.signedIn(async (page) => {
        browser.demo.hurry(10)
        await page.goto(at('/conversations/sessions?agent=support'))
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
        // The page must show the message before the answer.
        browser.demo.hurry(0)
        await page.fill('#message', 'Think it over')
        await page.getByRole('button', { name: 'Send' }).click()
        await page.locator('.answered.busy').waitFor()
        browser.demo.hurry(10)
        // Screen readers read out only this part of the page.
        await page.locator('#news', { hasText: 'Think it over' }).waitFor({ state: 'attached' })
      })
    })

    it('keeps the contents of a refused form, and names the problem', async () => {
      const { page, complaints } = await browser.visit()
      await page.goto(browser.signInUrl())
      await page.goto(at('/conversations/sessions?agent=support'))
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
      onTestFinished(() => browser.demo.hurry(1))
      await browser.signedIn(async (page) => {
        await page.setViewportSize({ width: 1280, height: 500 })
        await page.goto(at('/sessions/support?session=order-4715'))
        await page.locator('.answered table').waitFor()
        await page.waitForFunction(IS_AT_END)
        await page.evaluate(`window.first = document.querySelector('.exchange')`)
        // Another person sends this message. Its answer stops after the first word.
        browser.demo.hurry(0)
        const sent = await browser.demo.service.messages.send({
          projectId: browser.demo.projectId,
          agent: 'support',
          sessionId: 'order-4715',
          message: 'Write a summary',
          waitMs: 0,
        })
        const turn = page.locator(`#turn-${sent.message.id}`)
        await turn.locator('.asked', { hasText: 'Write a summary' }).waitFor()
        await turn.locator('.answered.busy strong', { hasText: 'Summary' }).waitFor()
        browser.demo.hurry(1)
        await turn.locator('.answered.good a', { hasText: 'the order' }).waitFor()
        await page.waitForFunction(IS_AT_END)
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

    it('shows parts while the agent works, and keeps open what the reader has opened', async () => {
      onTestFinished(() => browser.demo.hurry(1))
      await browser.signedIn(async (page) => {
        browser.demo.hurry(0)
        const { projectId, service } = browser.demo
        const to = { projectId, agent: 'support', sessionId: 'in-parts', waitMs: 0 }
        const { id } = (await service.messages.send({ ...to, message: 'Write a summary' })).message
        await page.goto(at('/sessions/support?session=in-parts'))
        const turn = page.locator(`#turn-${id}`)
        const call = turn.locator('.answered.busy summary', { hasText: 'Look up the order' })
        await call.click()
        browser.demo.hurry(1)
        await turn.locator('.answered.good a', { hasText: 'invoice' }).waitFor()
        expect(await turn.locator('details[open] .status').allTextContents()).toEqual([
          'output-available',
        ])
        expect(await turn.getByText('"state": "sent"').isVisible()).toBe(true)
      })
    })

    it('shows the parts of an answer as text and links, also on a phone', async () => {
      await browser.signedIn(
        async (page) => {
          await page.goto(at('/sessions/support?session=order-4715'))
          const answer = page.locator('.answered').first()
          const parts = answer.locator('details, .part')
          expect(await answer.locator('details[open]').count()).toBe(0)
          for (const summary of await answer.locator('summary').all()) await summary.click()
          const shown = (await parts.allTextContents()).join('\n')
          for (const text of [
            'Collect the facts',
            'The customer asks',
            String.raw`"</script><b>\"`,
            'the archive <b>is busy</b>',
            '"weightKg": 1.2',
          ])
            expect(shown).toContain(text)
          const links = await answer.locator('a[href*="4711-"], a[href*="script"]').all()
          expect(links).toHaveLength(2)
          for (const link of links) {
            expect(await link.getAttribute('rel')).toContain('noreferrer')
            expect(new URL(String(await link.getAttribute('href'))).host).toBe('shop.example.com')
          }
          expect(await answer.locator('img, script, iframe, .part b').count()).toBe(0)
          const width = await page.evaluate<number>('document.documentElement.scrollWidth')
          expect(width).toBeLessThanOrEqual(320)
          await page.evaluate(axe.source)
          for (const colorScheme of ['light', 'dark'] as const) {
            await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
            expect((await page.evaluate<AxeResults>('axe.run()')).violations).toEqual([])
          }
        },
        { viewport: { width: 320, height: 640 } },
      )
    })

    it('shows new messages to a reader, who has no form for the next one', async () => {
      const { service, projectId } = browser.demo
      const permissions = ['project:read'] as const
      const { key } = await service.keys.create({ projectId, name: 'reader', permissions })
      const send = async (message: string) => {
        const sent = { projectId, agent: 'support', sessionId: 'for-readers', message, waitMs: 0 }
        return (await service.messages.send(sent)).message.id
      }
      await send('Where is my order 4711?')
      await browser.signedIn(
        async (page) => {
          await page.goto(at('/sessions/support?session=for-readers'))
          expect(await page.locator('#message').count()).toBe(0)
          const id = await send('Thanks! And the invoice?')
          await page.locator(`#turn-${id} .answered.good`).waitFor()
        },
        { key },
      )
    })

    it('does not send a message again after a failure of the server', async () => {
      const { page } = await browser.visit()
      await page.goto(browser.signInUrl())
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
      await browser.signedIn(async (page) => {
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
      const { page, complaints } = await browser.visit()
      await page.goto(browser.signInUrl())
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
  },
)
