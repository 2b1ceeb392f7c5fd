/** In each language: the label, disrupted, maintenance, the button and the link. */
const languages: Readonly<Record<string, string>> = {
  en: 'Service status|Some services are disrupted|Maintenance in progress|Dismiss|Details',
  de: 'Dienststatus|Einige Dienste sind gestört|Wartungsarbeiten laufen|Schließen|Details',
  fr: 'État des services|Certains services sont perturbés|Maintenance en cours|Fermer|Détails',
  nl: 'Dienststatus|Sommige diensten zijn verstoord|Onderhoud wordt uitgevoerd|Sluiten|Details',
  es: 'Estado de los servicios|Algunos servicios tienen problemas|Mantenimiento en curso|Cerrar|Detalles',
  pl: 'Stan usług|Niektóre usługi mają problemy|Trwają prace konserwacyjne|Zamknij|Szczegóły',
};

/** Chooses the site's own texts, else the first preferred language that is supported, else English. */
export function chooseTexts(data: DOMStringMap) {
  const preferred = [data.lang, document.documentElement.lang, ...navigator.languages].filter(Boolean) as string[];
  const lang = preferred
    .map((tag) => tag.toLowerCase().split('-')[0]!)
    .find((tag) => typeof languages[tag] === 'string');
  const [label = '', disrupted = '', maintenance = '', dismiss = '', details = ''] =
    languages[lang ?? 'en']!.split('|');
  return {
    // Texts of the site may be in any language.
    lang: (data.textDisrupted && preferred[0]) || lang || 'en',
    label: data.textLabel ?? label,
    kinds: { disrupted: data.textDisrupted ?? disrupted, maintenance: data.textMaintenance ?? maintenance },
    dismiss: data.textDismiss ?? dismiss,
    details: data.textDetails ?? details,
  };
}
