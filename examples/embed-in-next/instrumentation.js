/** Starts the service with the server, not with the first request: what waits for its delivery goes out at once. */
export async function register() {
  // Not an early return: this is compiled for the edge runtime too, and only so is what it imports left out there.
  if (process.env.NEXT_RUNTIME === 'nodejs') {
    const { messaging } = await import('./lib/messaging.js')
    await messaging()
  }
}
