import { randomUUID } from 'node:crypto'
import { createConsole, isConsolePath, type ConsoleOptions } from '@org/agent-messaging-console'
import { createHttpApp } from '@org/agent-messaging-adapter-http'
import { chromium, type BrowserContextOptions, type FrameLocator, type Page } from 'playwright-core'
import { expect } from 'vitest'
import { chromiumOptions } from '../../../../scripts/chromium.mjs'
import { openListener } from '../../src/listener/http-listener.js'
import { playDemo } from './demo.mjs'

/** A browser is slow on a busy machine. */
export const TIMEOUT_MS = 60_000

export type DemoBrowser = Awaited<ReturnType<typeof openDemoBrowser>>

/** Serves the console and the API of the demo project, and opens a browser for it. */
export async function openDemoBrowser(portal: ConsoleOptions['portal'] = {}) {
  const demo = await playDemo()
  const pages = createConsole({ ...demo, catcher: true, portal })
  const api = createHttpApp({ ...demo, newRequestId: randomUUID })
  const fetch = (request: Request) =>
    (isConsolePath(new URL(request.url).pathname) ? pages : api).fetch(request)
  const listener = await openListener({ host: '127.0.0.1', port: 0, fetch })
  const browser = await chromium.launch(chromiumOptions())

  /** A one-time link. */
  const signInUrl = (key: string = demo.key): string => listener.url + pages.signInPath(key)

  /** Opens a page and collects its complaints: errors, blocked content and failed loads. */
  async function visit(options: BrowserContextOptions = {}) {
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, ...options })
    page.setDefaultTimeout(TIMEOUT_MS)
    const complaints: string[] = []
    page.on('console', (line) => {
      if (['error', 'warning'].includes(line.type())) complaints.push(line.text())
    })
    page.on('pageerror', (error) => complaints.push(String(error)))
    return { page, complaints }
  }

  return {
    demo,
    /** The address of the API's reference. */
    docs: `${listener.url}/docs`,
    /** Returns the address of a page of the console. */
    at: (path: string): string => `${listener.url}/console${path}`,
    browser,
    visit,
    signInUrl,
    /** Runs `act` on a page that is signed in. The page must log only the `expected` faults. */
    async signedIn(
      act: (page: Page) => Promise<void>,
      {
        key = demo.key,
        expected = [],
        ...options
      }: BrowserContextOptions & { key?: string; expected?: readonly string[] } = {},
    ): Promise<void> {
      const { page, complaints } = await visit(options)
      await page.goto(signInUrl(key))
      try {
        await act(page)
        expect(complaints).toEqual(expected.map((part) => expect.stringContaining(part) as string))
      } finally {
        await page.close()
      }
    },
    async close(): Promise<void> {
      await browser.close()
      await listener.close(0)
      await demo.stop()
    },
  }
}

/** Opens the menu, which a narrow page folds. */
export async function openMenu(page: Page | FrameLocator): Promise<void> {
  const button = page.getByRole('button', { name: 'Menu' })
  if (await button.isVisible()) await button.click()
}
