import { existsSync } from 'node:fs'

const WELL_KNOWN = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
]

/** Where this machine's Chromium is: `CHROMIUM_PATH`, or a well-known place. */
export const chromiumPath = () =>
  [process.env.CHROMIUM_PATH ?? '', ...WELL_KNOWN].find((place) => existsSync(place))

/** For `chromium.launch`: it asks nobody for anything but the pages. */
export const chromiumOptions = () => ({
  executablePath: chromiumPath() ?? '',
  args: [
    ...[
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
    ],
    ...['--disable-component-update', '--disable-sync'],
  ],
})
