import { existsSync } from 'node:fs'

const WELL_KNOWN = [
  '/usr/bin/chromium-headless-shell', // Takes half the processor time of the browser.
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
]

/** Finds Chromium at `CHROMIUM_PATH` or in a well-known place. */
export const chromiumPath = () =>
  [process.env.CHROMIUM_PATH ?? '', ...WELL_KNOWN].find((place) => existsSync(place))

/** Options for `chromium.launch`. The browser requests only the pages. */
export const chromiumOptions = () => ({
  executablePath: chromiumPath() ?? '',
  args: [
    '--headless',
    '--no-sandbox',
    '--disable-gpu',
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
  ],
})
