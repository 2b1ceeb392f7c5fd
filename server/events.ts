import { channel } from 'node:diagnostics_channel';

/**
 * Creates a kind of event of this process, over the node:diagnostics_channel `hosting-api:<name>`: who publishes it does not
 * know who listens.
 */
export function createEvent<Message>(name: string) {
  const events = channel(`hosting-api:${name}`);
  return {
    /** Whether anyone listens: asked before a message is built for each request. */
    isHeard: () => events.hasSubscribers,
    publish: (message: Message) => events.publish(message),
    /** Calls a function for each message, until the function that it returns is called. */
    subscribe(listener: (message: Message) => void): () => void {
      const onMessage = (message: unknown): void => listener(message as Message);
      events.subscribe(onMessage);
      return () => events.unsubscribe(onMessage);
    },
  };
}
